// Url: http and https URLs as values.
//
// Pure: no I/O. What is shown to a person never holds what may be a secret (user names, passwords,
// queries).
#ifndef H5ZARR_STORE_URL_H_
#define H5ZARR_STORE_URL_H_

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace h5zarr {

struct Url {
  std::string scheme;     // lower case
  std::string authority;  // [user[:password]@]host[:port]
  std::string path;       // percent-encoded; begins with '/', or is empty
  std::string query;      // with its '?', or empty

  std::string Text() const { return scheme + "://" + authority + path + query; }
  // For messages.
  std::string Shown() const;
  // Scheme, host and port: what one server, and one set of credentials, is known by.
  std::string Origin() const;
  // Whether the query holds a signature that gives access by itself (S3's, Google's, Azure's).
  bool IsPresigned() const;
  // How long such a signature is good from when it was made; nothing where it does not say.
  std::optional<std::chrono::seconds> SignedFor() const;
  // The URL of the object `key` below this one: its path is longer, the query stays.
  Url WithKey(std::string_view key) const;
};

// True for a name that begins with "http://" or "https://".
bool IsHttpUrl(std::string_view text);
// True for a name that begins with "s3://". What follows is no URL: bucket and key as they are.
bool IsS3Url(std::string_view text);
// Either of them: no name of this machine.
bool IsRemoteName(std::string_view text);

// kInvalidArgument unless `text` is an absolute http or https URL with a host. Bytes that no URL may hold
// (blanks, other than ASCII) are percent-encoded; a fragment is dropped.
Result<Url> ParseUrl(std::string_view text);

// For messages: a URL without what may be a secret, any other name as it is.
std::string ShownName(std::string_view name);

// What `reference` (absolute, or relative as in RFC 3986 §5) means beside `base`.
Result<Url> ResolveUrl(const Url& base, std::string_view reference);

// `text` with all bytes but letters, digits and "-._~/" percent-encoded.
std::string PercentEncode(std::string_view text);
// The same for a value within a query: '/' also.
std::string EncodeParameter(std::string_view text);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_URL_H_
