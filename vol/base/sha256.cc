#include "base/sha256.h"

#include <openssl/evp.h>

#include <algorithm>
#include <span>

#include "base/system_library.h"

namespace h5zarr {
namespace {

constexpr std::size_t kBlockBytes = 64;

// Of libcrypto.
struct Functions {
  decltype(&EVP_MD_CTX_new) context_new;
  decltype(&EVP_MD_CTX_free) context_free;
  decltype(&EVP_sha256) sha256;
  decltype(&EVP_DigestInit_ex) init;
  decltype(&EVP_DigestUpdate) update;
  decltype(&EVP_DigestFinal_ex) final;
  const EVP_MD* algorithm = nullptr;
};

Result<const Functions*> LoadFunctions() {
  H5ZARR_ASSIGN_OR_RETURN(const SystemLibrary library,
                          SystemLibrary::Load("SHA-256", {"libcrypto.so.3", "libcrypto.so.1.1"}));
  Functions found;
  if (!library.Find("EVP_MD_CTX_new", &found.context_new) || !library.Find("EVP_MD_CTX_free", &found.context_free) ||
      !library.Find("EVP_sha256", &found.sha256) || !library.Find("EVP_DigestInit_ex", &found.init) ||
      !library.Find("EVP_DigestUpdate", &found.update) || !library.Find("EVP_DigestFinal_ex", &found.final)) {
    return UnsupportedError("SHA-256 needs a newer libcrypto");
  }
  // (libcrypto 3 looks for the algorithm of EVP_sha256() at each use.)
  EVP_MD* (*fetch)(void* context, const char* name, const char* properties) = nullptr;
  if (library.Find("EVP_MD_fetch", &fetch)) found.algorithm = fetch(nullptr, "SHA256", nullptr);
  if (found.algorithm == nullptr) found.algorithm = found.sha256();
  return static_cast<const Functions*>(new Functions(found));
}

// Never unloaded.
const Result<const Functions*>& Libcrypto() {
  static const auto* const loaded = new Result<const Functions*>(LoadFunctions());
  return *loaded;
}

}  // namespace

struct Sha256::State {
  explicit State(const Functions* functions) : crypto(functions) {
    if (crypto == nullptr) return;
    context = crypto->context_new();
    ok = context != nullptr && crypto->init(context, crypto->algorithm, nullptr) == 1;
  }
  ~State() {
    if (context != nullptr) crypto->context_free(context);
  }
  const Functions* const crypto;  // null where there is no libcrypto
  EVP_MD_CTX* context = nullptr;
  bool ok = false;
};

Sha256::Sha256() : state_(std::make_unique<State>(Libcrypto().ok() ? *Libcrypto() : nullptr)) {}
Sha256::~Sha256() = default;

void Sha256::Add(ByteSpan bytes) {
  if (state_->ok) {
    state_->ok = state_->crypto->update(state_->context, bytes.data(), bytes.size()) == 1;
  }
}

Result<Sha256Digest> Sha256::Finish() {
  H5ZARR_RETURN_IF_ERROR(Libcrypto().status());
  Sha256Digest digest;
  if (!state_->ok || state_->crypto->final(state_->context, digest.data(), nullptr) != 1) {
    return InternalError("SHA-256 failed in libcrypto");
  }
  return digest;
}

Result<Sha256Digest> Sha256Of(ByteSpan bytes) {
  Sha256 hash;
  hash.Add(bytes);
  return hash.Finish();
}

Result<Sha256Digest> HmacSha256(ByteSpan key, ByteSpan message) {
  std::array<uint8_t, kBlockBytes> block{};
  if (key.size() > kBlockBytes) {
    H5ZARR_ASSIGN_OR_RETURN(const Sha256Digest digest, Sha256Of(key));
    std::copy(digest.begin(), digest.end(), block.begin());
  } else {
    std::transform(key.begin(), key.end(), block.begin(),
                   [](std::byte byte) { return std::to_integer<uint8_t>(byte); });
  }
  const auto pad = [&block](uint8_t with) {
    std::array<std::byte, kBlockBytes> padded;
    std::transform(block.begin(), block.end(), padded.begin(),
                   [with](uint8_t byte) { return static_cast<std::byte>(byte ^ with); });
    return padded;
  };
  Sha256 inner, outer;
  const std::array<std::byte, kBlockBytes> inner_key = pad(0x36), outer_key = pad(0x5c);
  inner.Add(inner_key);
  inner.Add(message);
  H5ZARR_ASSIGN_OR_RETURN(const Sha256Digest digest, inner.Finish());
  outer.Add(outer_key);
  outer.Add(std::as_bytes(std::span(digest)));
  return outer.Finish();
}

std::string HexOf(const Sha256Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace h5zarr
