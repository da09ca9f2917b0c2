#include "shadow/json_text.h"

#include <cstring>

#include "zarr/metadata.h"

namespace h5zarr::shadow {
namespace {

constexpr uint32_t kReplacement = 0xfffd;

bool IsScalarValue(uint32_t code) { return code < 0xd800 || (code >= 0xe000 && code <= 0x10ffff); }

// Decodes the code point at the start of `text`; its length in bytes, or 0 where there is none.
std::size_t DecodeOne(std::string_view text, uint32_t* code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) {
    *code = lead;
    return 1;
  }
  std::size_t length = 0;
  uint32_t smallest = 0;
  if ((lead & 0xe0) == 0xc0) length = 2, smallest = 0x80, *code = lead & 0x1f;
  else if ((lead & 0xf0) == 0xe0) length = 3, smallest = 0x800, *code = lead & 0x0f;
  else if ((lead & 0xf8) == 0xf0) length = 4, smallest = 0x10000, *code = lead & 0x07;
  else return 0;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    *code = (*code << 6) | (byte(i) & 0x3f);
  }
  return *code >= smallest && IsScalarValue(*code) ? length : 0;
}

void AppendUtf8(uint32_t code, std::string* text) {
  const auto put = [&](uint32_t byte) { text->push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6)), put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12)), put(0x80 | ((code >> 6) & 0x3f)), put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | (code >> 18)), put(0x80 | ((code >> 12) & 0x3f));
    put(0x80 | ((code >> 6) & 0x3f)), put(0x80 | (code & 0x3f));
  }
}

}  // namespace

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    uint32_t code = 0;
    const std::size_t length = DecodeOne(text, &code);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

Json TextToJson(std::string_view text) {
  if (IsValidUtf8(text)) return Json(std::string(text));
  Json wrapped = Json::object();
  wrapped["base64"] = zarr::EncodeBase64(AsBytes(text));
  return wrapped;
}

std::string KeyOfName(std::string_view name) {
  if (IsValidUtf8(name)) return std::string(name);
  return std::string(1, '\0') + zarr::EncodeBase64(AsBytes(name));
}

std::string NameOfKey(std::string_view key) {
  if (!key.starts_with('\0')) return std::string(key);
  const Result<std::vector<std::byte>> bytes = zarr::DecodeBase64(key.substr(1));
  return std::string(bytes.ok() ? AsText(bytes.value()) : key);
}

std::optional<std::string> TextFromJson(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  const std::optional<std::string> encoded = StringMember(json, "base64");
  if (!encoded || json.size() != 1) return std::nullopt;
  const Result<std::vector<std::byte>> bytes = zarr::DecodeBase64(*encoded);
  if (!bytes.ok()) return std::nullopt;
  return std::string(AsText(bytes.value()));
}

const Json* ReferencePath(const Json& json) {
  const Json* target = zarr::FindMember(json, "_REFERENCE");
  const Json* path = target == nullptr ? nullptr : zarr::FindMember(*target, "path");
  const Json* source = target == nullptr ? nullptr : zarr::FindMember(*target, "source");
  const bool is_here = source == nullptr || source->is_null() || *source == "." || *source == "";
  return path != nullptr && path->is_string() && is_here ? path : nullptr;
}

void Utf32ToUtf8(MutableByteSpan text, Endian endian) {
  std::string utf8;
  utf8.reserve(text.size());
  std::size_t utf8_end = 0;  // behind the last code point that is not NUL
  for (std::size_t i = 0; i + 4 <= text.size(); i += 4) {
    uint32_t code = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      code |= static_cast<uint32_t>(text[i + (endian == Endian::kBig ? 3 - k : k)]) << (8 * k);
    }
    AppendUtf8(IsScalarValue(code) ? code : kReplacement, &utf8);
    if (code != 0) utf8_end = utf8.size();
  }
  utf8.resize(utf8_end);
  utf8.resize(text.size());
  std::memcpy(text.data(), utf8.data(), utf8.size());
}

}  // namespace h5zarr::shadow
