#include "store/http_headers.h"

#include <algorithm>
#include <charconv>

namespace h5zarr {
namespace {

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  while (!text.empty() && kBlank.find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  while (!text.empty() && kBlank.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > INT64_MAX) {
    return std::nullopt;
  }
  return number;
}

std::string_view ReasonOf(int status) {
  switch (status) {
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 409: return "Conflict";
    case 412: return "Precondition Failed";
    case 416: return "Range Not Satisfiable";
    case 429: return "Too Many Requests";
    case 500: return "Internal Server Error";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    default: return "";
  }
}

}  // namespace

std::optional<ContentRange> ParseContentRange(std::string_view value) {
  value = Trimmed(value);
  if (!value.starts_with("bytes")) return std::nullopt;
  value = Trimmed(value.substr(5));
  const std::size_t slash = value.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  ContentRange range;
  const std::string_view total = Trimmed(value.substr(slash + 1));
  if (total != "*") {
    range.total = ParseNumber(total);
    if (!range.total) return std::nullopt;
  }
  const std::string_view span = Trimmed(value.substr(0, slash));
  if (span == "*") return range;
  const std::size_t dash = span.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  range.first = ParseNumber(Trimmed(span.substr(0, dash)));
  range.last = ParseNumber(Trimmed(span.substr(dash + 1)));
  if (!range.first || !range.last || *range.first > *range.last) return std::nullopt;
  if (range.total && *range.last >= *range.total) return std::nullopt;
  return range;
}

void HttpHeaders::AddLine(std::string_view line) {
  if (line.starts_with("HTTP/")) {
    *this = HttpHeaders();
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) return;
    const std::string_view rest = Trimmed(line.substr(blank));
    std::from_chars(rest.data(), rest.data() + rest.size(), status);
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  std::string name(Trimmed(line.substr(0, colon)));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const std::string_view value = Trimmed(line.substr(colon + 1));
  if (name == "etag") etag = value;
  if (name == "last-modified") last_modified = value;
  if (name == "location") location = value;
  if (name == "content-encoding") content_encoding = value;
  if (name == "content-length") content_length = ParseNumber(value);
  if (name == "content-range") content_range = ParseContentRange(value);
  if (name == "x-amz-bucket-region") bucket_region = value;
  if (name == "cache-control" && value.find("no-store") != std::string_view::npos) no_store = true;
  if (name == "retry-after") {
    // (A date is left to our own patience.)
    const std::optional<uint64_t> seconds = ParseNumber(value);
    if (seconds) retry_after_s = static_cast<int>(std::min<uint64_t>(*seconds, 3600));
  }
}

std::string HttpHeaders::ShownStatus() const {
  const std::string_view name = ReasonOf(status);
  std::string shown = "HTTP status " + std::to_string(status);
  if (!name.empty()) shown.append(" ").append(name);
  return shown;
}

}  // namespace h5zarr
