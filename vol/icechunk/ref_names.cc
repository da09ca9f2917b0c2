#include "icechunk/ref_names.h"

#include <optional>

namespace h5zarr::icechunk {
namespace {

bool IsEncoded(char c) {
  constexpr std::string_view kSigns = "\"#%*/<>?[\\]^`{|}~";
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte >= 0x7f || kSigns.find(c) != std::string_view::npos;
}

std::optional<unsigned> HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

}  // namespace

std::string EncodeRefName(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string folder;
  for (const char c : name) {
    if (!IsEncoded(c)) {
      folder += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    folder += '%';
    folder += kDigits[byte >> 4];
    folder += kDigits[byte & 15];
  }
  return folder;
}

std::string DecodeRefName(std::string_view folder) {
  std::string name;
  for (std::size_t at = 0; at < folder.size(); ++at) {
    if (folder[at] == '%' && folder.size() - at > 2) {
      const auto high = HexDigit(folder[at + 1]);
      const auto low = HexDigit(folder[at + 2]);
      if (high && low) {
        name += static_cast<char>(*high << 4 | *low);
        at += 2;
        continue;
      }
    }
    name += folder[at];
  }
  return EncodeRefName(name) == folder ? name : std::string(folder);
}

std::vector<std::string> RefSpellings(std::string_view name, bool in_local_folder) {
  const std::string plain(name);
  const std::string encoded = EncodeRefName(name);
  if (encoded == plain) return {plain};
  // (A web server may show a folder.)
  if (!in_local_folder) return {plain, encoded};
  // A folder whose own name has a '%' stands for another ref.
  if (plain.find('%') != std::string::npos) return {encoded};
  return {encoded, plain};
}

}  // namespace h5zarr::icechunk
