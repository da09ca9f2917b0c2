#include "store/reference_index.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/base64.h"

namespace h5zarr {
namespace {

constexpr std::string_view kBase64 = "base64:";

void AppendUtf8(uint32_t code, std::string* text) {
  if (code < 0x80) {
    *text += static_cast<char>(code);
  } else if (code < 0x800) {
    *text += static_cast<char>(0xC0 | code >> 6);
    *text += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    *text += static_cast<char>(0xE0 | code >> 12);
    *text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    *text += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    *text += static_cast<char>(0xF0 | code >> 18);
    *text += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    *text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    *text += static_cast<char>(0x80 | (code & 0x3F));
  }
}

// The four hexadecimal digits at the beginning of `raw`; above 0xFFFF where there are none.
uint32_t HexDigits(std::string_view raw) {
  uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const char c = i < raw.size() ? raw[i] : ' ';
    if (c >= '0' && c <= '9') value = value * 16 + static_cast<uint32_t>(c - '0');
    else if (c >= 'a' && c <= 'f') value = value * 16 + static_cast<uint32_t>(c - 'a' + 10);
    else if (c >= 'A' && c <= 'F') value = value * 16 + static_cast<uint32_t>(c - 'A' + 10);
    else return UINT32_MAX;
  }
  return value;
}

uint64_t Hash(std::string_view key) { return std::hash<std::string_view>()(key); }

bool IsDocumentKey(std::string_view key) {
  const std::string_view name = key.substr(key.rfind('/') + 1);
  return name == "zarr.json" || name == ".zarray" || name == ".zgroup" || name == ".zattrs";
}

}  // namespace

Result<std::string> UnescapeJson(std::string_view raw) {
  constexpr std::string_view kEscaped = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  const Status bad = CorruptError("a JSON string with a bad escape");
  std::string text;
  text.reserve(raw.size());
  while (true) {
    const std::size_t escape = raw.find('\\');
    text += raw.substr(0, escape);
    if (escape == std::string_view::npos) return text;
    raw.remove_prefix(escape + 1);
    if (raw.empty()) return bad;
    const std::size_t plain = kEscaped.find(raw[0]);
    if (plain != std::string_view::npos) {
      text += kMeant[plain];
      raw.remove_prefix(1);
      continue;
    }
    uint32_t code = raw[0] == 'u' ? HexDigits(raw.substr(1)) : UINT32_MAX;
    if (code > 0xFFFF) return bad;
    raw.remove_prefix(5);
    if (code >= 0xD800 && code < 0xE000) {
      const uint32_t low = raw.starts_with("\\u") ? HexDigits(raw.substr(2)) : UINT32_MAX;
      if (code >= 0xDC00 || low < 0xDC00 || low >= 0xE000) return bad;  // half of a pair
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      raw.remove_prefix(6);
    }
    AppendUtf8(code, &text);
  }
}

std::string_view WithoutMark(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text;
}

bool LooksLikeReferences(std::string_view beginning) {
  beginning = WithoutMark(beginning);
  const std::size_t first = beginning.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || beginning[first] != '{') return false;
  for (const std::string_view name : {"\"refs\"", ".zgroup\"", ".zarray\"", ".zattrs\"", "zarr.json\""}) {
    const std::size_t at = beginning.find(name);
    if (at == std::string_view::npos) continue;
    const std::size_t colon = beginning.find_first_not_of(" \t\r\n", at + name.size());
    if (colon == std::string_view::npos || beginning[colon] == ':') return true;
  }
  return false;
}

Status ReferenceIndex::Add(std::string_view key, Entry entry) {
  if (entries_.size() >= kDocumentMark) return OutOfRangeError("more than 4 billion references");
  if (key.size() > UINT32_MAX) return OutOfRangeError("a key of more than 4 GiB");
  if (IsDocumentKey(key)) documents_.emplace(key, true);
  entry.key_begin = key.data();
  entry.key_bytes = static_cast<uint32_t>(key.size());
  entries_.push_back(entry);
  return OkStatus();
}

std::size_t ReferenceIndex::FirstSlot(std::string_view key) const { return Hash(key) & (slots_.size() - 1); }

void ReferenceIndex::BuildSlots() {
  std::size_t count = 16;
  while (count < entries_.size() + entries_.size() / 2) count *= 2;
  slots_.assign(count, 0);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::size_t slot = FirstSlot(entries_[i].key());
    while (slots_[slot] != 0 && entries_[slots_[slot] - 1].key() != entries_[i].key()) {
      slot = (slot + 1) & (count - 1);
    }
    slots_[slot] = static_cast<uint32_t>(i + 1);  // of two with one key the later one
  }
}

const Reference* ReferenceIndex::Find(std::string_view key, Reference* memory) const {
  std::size_t slot = FirstSlot(key);
  while (slots_[slot] != 0 && entries_[slots_[slot] - 1].key() != key) {
    slot = (slot + 1) & (slots_.size() - 1);
  }
  if (slots_[slot] == 0) return nullptr;
  const Entry& entry = entries_[slots_[slot] - 1];
  if (entry.url == kTextMark || entry.url == kDocumentMark) {
    memory->kind = entry.url == kTextMark ? Reference::Kind::kText : Reference::Kind::kDocument;
    memory->text = AsText(text_).substr(entry.offset, entry.length);
    return memory;
  }
  const bool whole = entry.length == kWholeLength;
  memory->kind = whole ? Reference::Kind::kWhole : Reference::Kind::kSpan;
  memory->url = urls_[entry.url];
  memory->offset = entry.offset;
  memory->length = whole ? 0 : entry.length;
  return memory;
}

Result<Buffer> ReferenceIndex::Decode(const Reference& reference) {
  if (reference.kind == Reference::Kind::kDocument) return Buffer::CopyOf(AsBytes(reference.text));
  if (reference.text.starts_with(kBase64) && reference.text.find('\\') == std::string_view::npos) {
    H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, DecodeBase64(reference.text.substr(kBase64.size())));
    return Buffer::CopyOf(bytes);
  }
  H5ZARR_ASSIGN_OR_RETURN(const std::string text, UnescapeJson(reference.text));
  if (text.starts_with(kBase64)) {  // "\/" is a digit, too
    H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes,
                            DecodeBase64(std::string_view(text).substr(kBase64.size())));
    return Buffer::CopyOf(bytes);
  }
  return Buffer::CopyOf(AsBytes(text));
}

}  // namespace h5zarr
