// SHA-256 and what is made of it, by the system's libcrypto, which is loaded when something is first hashed.
#ifndef H5ZARR_BASE_SHA256_H_
#define H5ZARR_BASE_SHA256_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "base/status.h"

namespace h5zarr {

using Sha256Digest = std::array<uint8_t, 32>;

// The hash of pieces that come one after the other. One thread at a time.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void Add(ByteSpan bytes);
  // kUnsupported without libcrypto, kInternal when it refused. Once, and last.
  Result<Sha256Digest> Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Errors as those of Finish. Thread-safe.
Result<Sha256Digest> Sha256Of(ByteSpan bytes);

// HMAC (RFC 2104) with SHA-256. Errors as those of Finish. Thread-safe.
Result<Sha256Digest> HmacSha256(ByteSpan key, ByteSpan message);

// In lower-case hexadecimal digits.
std::string HexOf(const Sha256Digest& digest);

}  // namespace h5zarr

#endif  // H5ZARR_BASE_SHA256_H_
