#include "store/s3_listing.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace h5zarr {
namespace {

// Takes the next element `name`, wherever it begins in `*rest`: its inside, and `*rest` behind it. Elements
// of that name within it do not occur.
std::optional<std::string_view> TakeElement(std::string_view* rest, std::string_view name) {
  const std::string open = "<" + std::string(name);
  const std::string close = "</" + std::string(name) + ">";
  std::size_t at = 0;
  while ((at = rest->find(open, at)) != std::string_view::npos) {
    const std::size_t after = at + open.size();
    const char next = after < rest->size() ? (*rest)[after] : '\0';
    if (next == '>' || next == ' ' || next == '/') break;
    at = after;  // a longer name
  }
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t begin = rest->find('>', at);
  if (begin == std::string_view::npos) return std::nullopt;
  if ((*rest)[begin - 1] == '/') {
    rest->remove_prefix(begin + 1);
    return std::string_view();
  }
  const std::size_t end = rest->find(close, begin);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view inside = rest->substr(begin + 1, end - begin - 1);
  rest->remove_prefix(end + close.size());
  return inside;
}

bool AppendUtf8(uint32_t code, std::string* text) {
  if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
  if (code < 0x80) {
    *text += static_cast<char>(code);
  } else if (code < 0x800) {
    *text += static_cast<char>(0xC0 | code >> 6);
    *text += static_cast<char>(0x80 | (code & 63));
  } else if (code < 0x10000) {
    *text += static_cast<char>(0xE0 | code >> 12);
    *text += static_cast<char>(0x80 | (code >> 6 & 63));
    *text += static_cast<char>(0x80 | (code & 63));
  } else {
    *text += static_cast<char>(0xF0 | code >> 18);
    *text += static_cast<char>(0x80 | (code >> 12 & 63));
    *text += static_cast<char>(0x80 | (code >> 6 & 63));
    *text += static_cast<char>(0x80 | (code & 63));
  }
  return true;
}

bool AppendEntity(std::string_view name, std::string* text) {
  constexpr std::pair<std::string_view, char> kNamed[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [known, character] : kNamed) {
    if (name != known) continue;
    *text += character;
    return true;
  }
  if (!name.starts_with('#')) return false;
  name.remove_prefix(1);
  const bool is_hex = name.starts_with('x');
  if (is_hex) name.remove_prefix(1);
  uint32_t code = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), code, is_hex ? 16 : 10);
  return error == std::errc() && end == name.data() + name.size() && AppendUtf8(code, text);
}

std::optional<std::string> Decoded(std::string_view text) {
  std::string decoded;
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find('&'), text.size());
    decoded.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t end = text.find(';');
    if (end == std::string_view::npos || !AppendEntity(text.substr(1, end - 1), &decoded)) {
      return std::nullopt;
    }
    text.remove_prefix(end + 1);
  }
  return decoded;
}

}  // namespace

std::optional<std::string> XmlText(std::string_view xml, std::string_view name) {
  const std::optional<std::string_view> inside = TakeElement(&xml, name);
  return inside ? Decoded(*inside) : std::nullopt;
}

Result<S3Page> ParseS3Page(std::string_view xml, const std::string& what) {
  const Status corrupt = CorruptError(what + ": the answer is no listing of S3");
  std::string_view rest = xml;
  std::optional<std::string_view> inside = TakeElement(&rest, "ListBucketResult");
  if (!inside) return corrupt;
  S3Page page;
  rest = *inside;
  while (const std::optional<std::string_view> object = TakeElement(&rest, "Contents")) {
    const std::optional<std::string> key = XmlText(*object, "Key");
    const std::optional<std::string> size = XmlText(*object, "Size");
    if (!key || !size) return corrupt;
    uint64_t bytes = 0;
    const auto [end, error] = std::from_chars(size->data(), size->data() + size->size(), bytes);
    if (error != std::errc() || end != size->data() + size->size()) return corrupt;
    page.objects.push_back({*key, bytes});
  }
  rest = *inside;
  while (const std::optional<std::string_view> common = TakeElement(&rest, "CommonPrefixes")) {
    std::optional<std::string> prefix = XmlText(*common, "Prefix");
    if (!prefix) return corrupt;
    page.prefixes.push_back(std::move(*prefix));
  }
  if (XmlText(*inside, "IsTruncated").value_or("false") == "true") {
    page.next_token = XmlText(*inside, "NextContinuationToken").value_or("");
    if (page.next_token.empty()) return corrupt;
  }
  return page;
}

}  // namespace h5zarr
