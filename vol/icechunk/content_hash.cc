#include "icechunk/content_hash.h"

#include <openssl/evp.h>

#include <algorithm>

#include "base/system_library.h"

namespace h5zarr::icechunk {

namespace {

// Of libcrypto.
struct Functions {
  decltype(&EVP_MD_CTX_new) context_new;
  decltype(&EVP_MD_CTX_free) context_free;
  decltype(&EVP_sha256) sha256;
  decltype(&EVP_DigestInit_ex) init;
  decltype(&EVP_DigestUpdate) update;
  decltype(&EVP_DigestFinal_ex) final;
};

Result<const Functions*> LoadFunctions() {
  H5ZARR_ASSIGN_OR_RETURN(const SystemLibrary library,
                          SystemLibrary::Load("SHA-256", {"libcrypto.so.3", "libcrypto.so.1.1"}));
  Functions found;
  if (!library.Find("EVP_MD_CTX_new", &found.context_new) ||
      !library.Find("EVP_MD_CTX_free", &found.context_free) ||
      !library.Find("EVP_sha256", &found.sha256) ||
      !library.Find("EVP_DigestInit_ex", &found.init) ||
      !library.Find("EVP_DigestUpdate", &found.update) ||
      !library.Find("EVP_DigestFinal_ex", &found.final)) {
    return UnsupportedError("SHA-256 needs a newer libcrypto");
  }
  return static_cast<const Functions*>(new Functions(found));
}

// Never unloaded.
const Result<const Functions*>& Libcrypto() {
  static const auto* const loaded = new Result<const Functions*>(LoadFunctions());
  return *loaded;
}

}  // namespace

struct Hasher::State {
  explicit State(const Functions* crypto) : crypto(crypto) {
    if (crypto == nullptr) return;
    context = crypto->context_new();
    ok = context != nullptr && crypto->init(context, crypto->sha256(), nullptr) == 1;
  }
  ~State() {
    if (context != nullptr) crypto->context_free(context);
  }
  const Functions* const crypto;  // null where there is no libcrypto
  EVP_MD_CTX* context = nullptr;
  bool ok = false;
};

Hasher::Hasher() : state_(std::make_unique<State>(Libcrypto().ok() ? *Libcrypto() : nullptr)) {}
Hasher::~Hasher() = default;

void Hasher::Add(ByteSpan bytes) {
  if (state_->ok) {
    state_->ok = state_->crypto->update(state_->context, bytes.data(), bytes.size()) == 1;
  }
}

Result<ContentHash> Hasher::Finish() {
  H5ZARR_RETURN_IF_ERROR(Libcrypto().status());
  ContentHash hash;
  if (!state_->ok || state_->crypto->final(state_->context, hash.data(), nullptr) != 1) {
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
