// Where the members of a tar archive lie in it.
//
// Within store/, but for LooksLikeTar.
#ifndef H5ZARR_STORE_TAR_INDEX_H_
#define H5ZARR_STORE_TAR_INDEX_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "base/status.h"

namespace h5zarr {

struct TarMember {
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
};
using TarMembers = std::map<std::string, TarMember, std::less<>>;

inline constexpr std::size_t kTarBlockBytes = 512;

// Whether a file that begins so is a tar archive (POSIX ustar).
bool LooksLikeTar(std::string_view beginning);

// Fills `target` with the archive's bytes from `offset` on.
using ReadTarBytes = std::function<Status(uint64_t offset, MutableByteSpan target)>;

// The regular files in the archive `name`, of `file_bytes` bytes, read from header to header. kCorrupt for a
// damaged header, or a member that reaches beyond the file.
Result<TarMembers> ReadTarIndex(const std::string& name, uint64_t file_bytes, const ReadTarBytes& read);

// The same from LINDI's own index, which its archives begin with: few reads, wherever the members are. kNotFound
// where there is none.
Result<TarMembers> ReadLindiTarIndex(const std::string& name, uint64_t file_bytes, const ReadTarBytes& read);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_TAR_INDEX_H_
