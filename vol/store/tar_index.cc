#include "store/tar_index.h"

#include <algorithm>
#include <optional>

#include "store/posix_file.h"

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
  return beginning.size() >= kTarBlockBytes &&
         beginning.substr(kMagic.at, kMagic.bytes) == "ustar" && HasChecksum(beginning);
}

Result<TarMembers> ReadTarIndex(const std::string& path) {
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<OpenObject> file,
                          OpenForReading(path, WhenBlocked::kError));
  if (!file) return NotFoundError("'" + path + "' is not there");
  TarMembers members;
  H5ZARR_ASSIGN_OR_RETURN(Buffer block, Buffer::Allocate(kTarBlockBytes));
  for (uint64_t at = 0; file->object_bytes - at >= kTarBlockBytes;) {
    H5ZARR_RETURN_IF_ERROR(ReadExactly(file->file.fd(), at, block.span(), path));
    const std::string_view header = AsText(block);
    if (header.find_first_not_of('\0') == std::string_view::npos) break;  // the archive's end
    const std::optional<uint64_t> size = Octal(TextOf(header, kSize));
    at += kTarBlockBytes;
    if (!HasChecksum(header) || !size || *size > file->object_bytes - at) {
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
    at += std::min(padded, file->object_bytes - at);
  }
  return members;
}

}  // namespace h5zarr
