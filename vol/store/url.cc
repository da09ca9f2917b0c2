#include "store/url.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace h5zarr {
namespace {

bool IsAlphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

std::string Lowered(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(), Lower);
  return lowered;
}

void AppendEncoded(char c, std::string* text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  *text += '%';
  *text += kDigits[byte >> 4];
  *text += kDigits[byte & 15];
}

// `text` with what no URL may hold encoded; what is encoded already stays.
std::string EncodeForbidden(std::string_view text) {
  constexpr std::string_view kForbidden = " \"<>\\^`{|}";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 32 || byte >= 127 || kForbidden.find(c) != std::string_view::npos) {
      AppendEncoded(c, &encoded);
    } else {
      encoded += c;
    }
  }
  return encoded;
}

// RFC 3986 §5.2.4, for a path that begins with '/'.
std::string WithoutDots(std::string_view path) {
  std::vector<std::string_view> kept;
  bool ends_in_folder = false;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view segment = path.substr(0, slash);
    path.remove_prefix(slash);
    ends_in_folder = segment == "." || segment == "..";
    if (segment == ".." && !kept.empty()) kept.pop_back();
    if (!ends_in_folder) kept.push_back(segment);
  }
  std::string joined;
  for (const std::string_view segment : kept) joined.append("/").append(segment);
  if (ends_in_folder) joined += '/';
  return joined;
}

}  // namespace

std::string PercentEncode(std::string_view text) {
  constexpr std::string_view kPlain = "-._~/";
  std::string encoded;
  for (const char c : text) {
    if (IsAlphanumeric(c) || kPlain.find(c) != std::string_view::npos) {
      encoded += c;
    } else {
      AppendEncoded(c, &encoded);
    }
  }
  return encoded;
}

std::string EncodeParameter(std::string_view text) {
  std::string encoded;
  for (const char c : PercentEncode(text)) encoded += c == '/' ? std::string("%2F") : std::string(1, c);
  return encoded;
}

std::string Url::Shown() const {
  const std::size_t at = authority.rfind('@');
  const std::string host = at == std::string::npos ? authority : authority.substr(at + 1);
  return scheme + "://" + host + path + (query.empty() ? "" : "?…");
}

std::string Url::Origin() const {
  const std::size_t at = authority.rfind('@');
  std::string host = Lowered(at == std::string::npos ? authority : authority.substr(at + 1));
  const std::string_view default_port = scheme == "https" ? ":443" : ":80";
  if (host.ends_with(default_port)) host.resize(host.size() - default_port.size());
  return scheme + "://" + host;
}

bool Url::IsPresigned() const {
  const std::string lowered = Lowered(query);
  for (const std::string_view name : {"x-amz-signature=", "x-goog-signature=", "signature=", "sig="}) {
    for (const char before : {'?', '&'}) {
      if (lowered.find(before + std::string(name)) != std::string::npos) return true;
    }
  }
  return false;
}

std::optional<std::chrono::seconds> Url::SignedFor() const {
  const std::string lowered = Lowered(query);
  for (const std::string_view name : {"x-amz-expires=", "x-goog-expires="}) {
    const std::size_t at = lowered.find(name);
    if (at == std::string::npos || at == 0) continue;
    const char* const begin = lowered.data() + at + name.size();
    int seconds = 0;
    const auto [end, error] = std::from_chars(begin, lowered.data() + lowered.size(), seconds);
    if (error == std::errc() && end != begin && seconds > 0) return std::chrono::seconds(seconds);
  }
  return std::nullopt;
}

Url Url::WithKey(std::string_view key) const {
  Url url = *this;
  if (key.empty()) return url;
  if (!url.path.ends_with('/')) url.path += '/';
  url.path += PercentEncode(key);
  return url;
}

bool IsHttpUrl(std::string_view text) {
  const std::string start = Lowered(text.substr(0, 8));
  return start.starts_with("http://") || start == "https://";
}

bool IsS3Url(std::string_view text) { return text.starts_with("s3://"); }

bool IsRemoteName(std::string_view text) { return IsHttpUrl(text) || IsS3Url(text); }

Result<Url> ParseUrl(std::string_view text) {
  const auto refuse = [](std::string_view why) { return InvalidArgumentError("a URL " + std::string(why)); };
  if (!IsHttpUrl(text)) return refuse("that does not begin with http:// or https://");
  if (text.find('\0') != std::string_view::npos) return refuse("with a NUL character");
  Url url;
  const std::size_t colon = text.find(':');
  url.scheme = Lowered(text.substr(0, colon));
  text.remove_prefix(colon + 3);
  text = text.substr(0, text.find('#'));
  const std::size_t question = text.find('?');
  if (question != std::string_view::npos) {
    url.query = EncodeForbidden(text.substr(question));
    if (url.query == "?") url.query.clear();
  }
  text = text.substr(0, question);
  const std::size_t slash = std::min(text.find('/'), text.size());
  url.authority = EncodeForbidden(text.substr(0, slash));
  url.path = EncodeForbidden(text.substr(slash));
  const std::size_t at = url.authority.rfind('@');
  if (url.authority.empty() || at == url.authority.size() - 1) return refuse("without a host");
  return url;
}

std::string ShownName(std::string_view name) {
  if (!IsHttpUrl(name)) return std::string(name);
  const Result<Url> url = ParseUrl(name);
  return url.ok() ? url->Shown() : "a malformed URL";
}

Result<Url> ResolveUrl(const Url& base, std::string_view reference) {
  if (IsHttpUrl(reference)) return ParseUrl(reference);
  const std::size_t colon = reference.find("://");
  if (colon != std::string_view::npos && reference.substr(0, colon).find('/') == std::string_view::npos) {
    return ParseUrl(reference);  // which says what is wrong with it
  }
  if (reference.starts_with("//")) return ParseUrl(base.scheme + ":" + std::string(reference));
  reference = reference.substr(0, reference.find('#'));
  const std::size_t question = reference.find('?');
  const std::string_view path = reference.substr(0, question);
  Url url = base;
  url.query = question == std::string_view::npos ? "" : EncodeForbidden(reference.substr(question));
  if (path.empty()) {
    if (question == std::string_view::npos) url.query = base.query;
    return url;
  }
  if (path.starts_with('/')) {
    url.path = WithoutDots(EncodeForbidden(path));
  } else {
    const std::string folder = base.path.substr(0, base.path.rfind('/') + 1);
    url.path = WithoutDots((folder.empty() ? "/" : folder) + EncodeForbidden(path));
  }
  return url;
}

}  // namespace h5zarr
