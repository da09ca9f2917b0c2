#include "store/aws_signature.h"

#include <algorithm>
#include <map>
#include <span>

#include "base/buffer.h"
#include "base/sha256.h"

namespace h5zarr {
namespace {

constexpr char kAlgorithm[] = "AWS4-HMAC-SHA256";

std::string Lowered(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return lowered;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Sorted by name, each with a '='.
std::string CanonicalQuery(std::string_view query) {
  if (query.starts_with('?')) query.remove_prefix(1);
  std::vector<std::pair<std::string_view, std::string_view>> parameters;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view parameter = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = std::min(parameter.find('='), parameter.size());
    parameters.emplace_back(parameter.substr(0, equals), parameter.substr(std::min(equals + 1, parameter.size())));
  }
  std::sort(parameters.begin(), parameters.end());
  std::string canonical;
  for (const auto& [name, value] : parameters) {
    if (!canonical.empty()) canonical += '&';
    canonical.append(name).append("=").append(value);
  }
  return canonical;
}

// The host as libcurl names it: with its port where that is not the scheme's own.
std::string HostOf(const Url& url) { return url.Origin().substr(url.scheme.size() + 3); }

std::string FormatTime(const char* format, std::time_t time) {
  std::tm parts;
  gmtime_r(&time, &parts);
  char text[32];
  return std::string(text, std::strftime(text, sizeof(text), format, &parts));
}

Result<Sha256Digest> SigningKey(const std::string& secret, const std::string& day, const AwsScope& scope) {
  H5ZARR_ASSIGN_OR_RETURN(Sha256Digest key, HmacSha256(AsBytes("AWS4" + secret), AsBytes(day)));
  for (const std::string_view word :
       {std::string_view(scope.region), std::string_view(scope.service), std::string_view("aws4_request")}) {
    H5ZARR_ASSIGN_OR_RETURN(key, HmacSha256(std::as_bytes(std::span(key)), AsBytes(word)));
  }
  return key;
}

}  // namespace

Result<std::vector<std::string>> SignV4(const RequestHead& head, const AwsCredentials& credentials,
                                        const AwsScope& scope, std::time_t now) {
  const std::string time = FormatTime("%Y%m%dT%H%M%SZ", now);
  const std::string day = time.substr(0, 8);
  std::string body_hash = head.body_sha256;
  if (body_hash.empty()) {
    H5ZARR_ASSIGN_OR_RETURN(const Sha256Digest nothing, Sha256Of({}));
    body_hash = HexOf(nothing);
  }
  std::vector<std::string> added = {"x-amz-date: " + time};
  if (scope.service == "s3") added.push_back("x-amz-content-sha256: " + body_hash);
  if (!credentials.session_token.empty()) {
    added.push_back("x-amz-security-token: " + credentials.session_token);
  }

  std::map<std::string, std::string> headers = {{"host", HostOf(head.url)}};
  for (const std::vector<std::string>* lines : {&head.headers, static_cast<const std::vector<std::string>*>(&added)}) {
    for (const std::string& line : *lines) {
      const std::size_t colon = std::min(line.find(':'), line.size());
      const std::string_view value = Trimmed(std::string_view(line).substr(std::min(colon + 1, line.size())));
      // (A header without a value is one that libcurl shall not send.)
      if (!value.empty()) headers[Lowered(line.substr(0, colon))] = value;
    }
  }
  std::string names, lines;
  for (const auto& [name, value] : headers) {
    names.append(names.empty() ? "" : ";").append(name);
    lines.append(name).append(":").append(value).append("\n");
  }
  const std::string canonical = std::string(head.method) + "\n" + (head.url.path.empty() ? "/" : head.url.path) + "\n" +
                                CanonicalQuery(head.url.query) + "\n" + lines + "\n" + names + "\n" + body_hash;
  H5ZARR_ASSIGN_OR_RETURN(const Sha256Digest request_hash, Sha256Of(AsBytes(canonical)));
  const std::string scope_text = day + "/" + scope.region + "/" + scope.service + "/aws4_request";
  const std::string to_sign = std::string(kAlgorithm) + "\n" + time + "\n" + scope_text + "\n" + HexOf(request_hash);
  H5ZARR_ASSIGN_OR_RETURN(const Sha256Digest key, SigningKey(credentials.secret_key, day, scope));
  H5ZARR_ASSIGN_OR_RETURN(const Sha256Digest signature, HmacSha256(std::as_bytes(std::span(key)), AsBytes(to_sign)));
  added.push_back("Authorization: " + std::string(kAlgorithm) + " Credential=" + credentials.access_key + "/" +
                  scope_text + ", SignedHeaders=" + names + ", Signature=" + HexOf(signature));
  return added;
}

}  // namespace h5zarr
