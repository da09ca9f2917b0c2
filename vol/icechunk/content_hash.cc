#include "icechunk/content_hash.h"

#include <openssl/evp.h>

#include <algorithm>

namespace h5zarr::icechunk {

struct Hasher::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  bool ok = context != nullptr && EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1;
  ~State() { EVP_MD_CTX_free(context); }
};

Hasher::Hasher() : state_(std::make_unique<State>()) {}
Hasher::~Hasher() = default;

void Hasher::Add(ByteSpan bytes) {
  if (state_->ok) {
    state_->ok = EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1;
  }
}

Result<ContentHash> Hasher::Finish() {
  ContentHash hash;
  if (!state_->ok || EVP_DigestFinal_ex(state_->context, hash.data(), nullptr) != 1) {
    return InternalError("SHA-256 failed in libcrypto");
  }
  return hash;
}

Result<ContentHash> HashOf(ByteSpan bytes) {
  Hasher hasher;
  hasher.Add(bytes);
  return hasher.Finish();
}

ObjectId IdOf(const ContentHash& hash) {
  ObjectId id;
  std::copy_n(hash.begin(), id.bytes.size(), id.bytes.begin());
  return id;
}

}  // namespace h5zarr::icechunk
