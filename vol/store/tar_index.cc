#include "store/tar_index.h"

#include <simdjson.h>

#include <algorithm>
#include <optional>

namespace h5zarr {
namespace {

// Fields of a header: where they begin, and how long they are.
struct Field {
  std::size_t at;
  std::size_t bytes;
};
constexpr Field kName{0, 100};
constexpr Field kSize{124, 12};
constexpr Field kChecksum{148, 8};
constexpr Field kType{156, 1};
constexpr Field kMagic{257, 5};
constexpr Field kPrefix{345, 155};
// What LINDI's first member, which says where its index is, is always as long as.
constexpr uint64_t kEntryBytes = 1024;

std::string_view TextOf(std::string_view header, Field field) {
  const std::string_view text = header.substr(field.at, field.bytes);
  return text.substr(0, text.find('\0'));
}

std::optional<uint64_t> Octal(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (text.empty() || text.size() > 20) return std::nullopt;
  uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<uint64_t>(c - '0');
  }
  return value;
}

bool HasChecksum(std::string_view header) {
  uint64_t sum = 0;
  for (std::size_t i = 0; i < kTarBlockBytes; ++i) {
    const bool within = i >= kChecksum.at && i < kChecksum.at + kChecksum.bytes;
    sum += within ? ' ' : static_cast<unsigned char>(header[i]);
  }
  return Octal(TextOf(header, kChecksum)) == sum;
}

}  // namespace

bool LooksLikeTar(std::string_view beginning) {
  return beginning.size() >= kTarBlockBytes && beginning.substr(kMagic.at, kMagic.bytes) == "ustar" &&
         HasChecksum(beginning);
}

Result<TarMembers> ReadLindiTarIndex(const std::string& name, uint64_t file_bytes, const ReadTarBytes& read) {
  const Status none = NotFoundError("'" + name + "': the archive has no index");
  if (file_bytes < kTarBlockBytes + kEntryBytes) return none;
  const auto parse = [&](uint64_t offset, uint64_t bytes,
                         simdjson::dom::parser& parser) -> Result<simdjson::dom::element> {
    simdjson::padded_string text(bytes);
    H5ZARR_RETURN_IF_ERROR(read(offset, std::as_writable_bytes(std::span(text.data(), text.size()))));
    simdjson::dom::element document;
    if (parser.parse(text).get(document) != simdjson::SUCCESS) return none;
    return document;
  };
  simdjson::dom::parser parser;
  std::string first(kTarBlockBytes, '\0');
  H5ZARR_RETURN_IF_ERROR(read(0, std::as_writable_bytes(std::span(first.data(), first.size()))));
  if (TextOf(first, kName) != ".tar_entry.json") return none;
  H5ZARR_ASSIGN_OR_RETURN(const simdjson::dom::element entry, parse(kTarBlockBytes, kEntryBytes, parser));
  uint64_t offset = 0, bytes = 0;
  if (entry["index"]["d"].get(offset) != simdjson::SUCCESS || entry["index"]["s"].get(bytes) != simdjson::SUCCESS ||
      offset > file_bytes || bytes > file_bytes - offset) {
    return none;
  }
  H5ZARR_ASSIGN_OR_RETURN(const simdjson::dom::element index, parse(offset, bytes, parser));
  simdjson::dom::array files;
  if (index["files"].get(files) != simdjson::SUCCESS) return none;
  TarMembers members;
  for (const simdjson::dom::element file : files) {
    std::string_view member;
    TarMember place;
    if (file["n"].get(member) != simdjson::SUCCESS || file["d"].get(place.offset) != simdjson::SUCCESS ||
        file["s"].get(place.size_bytes) != simdjson::SUCCESS || place.offset > file_bytes ||
        place.size_bytes > file_bytes - place.offset) {
      return CorruptError("'" + name + "': the archive's index is damaged");
    }
    members[std::string(member)] = place;
  }
  return members;
}

Result<TarMembers> ReadTarIndex(const std::string& path, uint64_t file_bytes, const ReadTarBytes& read) {
  TarMembers members;
  H5ZARR_ASSIGN_OR_RETURN(Buffer block, Buffer::Allocate(kTarBlockBytes));
  for (uint64_t at = 0; file_bytes - at >= kTarBlockBytes;) {
    H5ZARR_RETURN_IF_ERROR(read(at, block.span()));
    const std::string_view header = AsText(block);
    if (header.find_first_not_of('\0') == std::string_view::npos) break;  // the archive's end
    const std::optional<uint64_t> size = Octal(TextOf(header, kSize));
    at += kTarBlockBytes;
    if (!HasChecksum(header) || !size || *size > file_bytes - at) {
      return CorruptError("'" + path + "': damaged header of a tar archive at byte " +
                          std::to_string(at - kTarBlockBytes));
    }
    const char type = header[kType.at];
    if (type == '0' || type == '\0') {
      std::string name(TextOf(header, kPrefix));
      if (!name.empty()) name += '/';
      name += TextOf(header, kName);
      members[std::move(name)] = {at, *size};
    }
    const uint64_t padded = (*size + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
    at += std::min(padded, file_bytes - at);
  }
  return members;
}

}  // namespace h5zarr
