#include "store/http_store.h"

#include <cstring>
#include <utility>

#include "store/http_engine.h"
#include "store/http_read.h"
#include "store/http_session.h"
#include "store/read_only_store.h"
#include "store/url.h"

namespace h5zarr {
namespace {

// A size that was seen so recently is believed: each batch that met an absent chunk asks for its array's.
constexpr std::chrono::seconds kSizeLifetime{5};

class HttpStore : public ReadOnlyStore {
 public:
  HttpStore(Url base, std::shared_ptr<HttpSession> session) : base_(std::move(base)), session_(std::move(session)) {}

  std::string Describe() const override { return base_.Shown(); }

  Status ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) override {
    const auto url_of = [this](std::string_view key) { return base_.WithKey(key); };
    return ReadHttpBatch(url_of, session_, ops, sink, executor);
  }
  Result<std::optional<Buffer>> Read(std::string_view key, Generation* generation) override;
  Result<std::optional<uint64_t>> ObjectBytes(std::string_view key) override;

  Result<std::vector<ListEntry>> List(std::string_view) override { return CannotList(); }
  Status Walk(std::string_view, const std::function<Status(std::string_view key, uint64_t bytes)>&) override {
    return CannotList();
  }

 private:
  Status CannotList() const {
    return UnsupportedError("'" + Describe() +
                            "': its members cannot be listed over HTTP, and it has no "
                            "consolidated metadata (zarr.consolidate_metadata makes it); open them "
                            "by their paths");
  }
  Status Refusal() const override {
    return PermissionDeniedError("'" + Describe() + "': over HTTP stores can only be read");
  }

  const Url base_;
  const std::shared_ptr<HttpSession> session_;
};

Result<std::optional<Buffer>> HttpStore::Read(std::string_view key, Generation* generation) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(key));
  if (generation != nullptr) *generation = Generation();
  std::shared_ptr<CachedFetch> owner;
  H5ZARR_ASSIGN_OR_RETURN(const HttpFetch::Outcome outcome,
                          FetchNow({base_.WithKey(key), ByteRange::Whole(), {}, {}}, session_, &owner));
  if (outcome.absent) return std::optional<Buffer>();
  if (generation != nullptr) *generation = outcome.generation;
  H5ZARR_ASSIGN_OR_RETURN(Buffer bytes, Buffer::CopyOf(outcome.bytes));
  return std::optional<Buffer>(std::move(bytes));
}

Result<std::optional<uint64_t>> HttpStore::ObjectBytes(std::string_view key) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(key));
  const Url url = base_.WithKey(key);
  const std::optional<HttpSession::Known> known = session_->Find(url.Text());
  if (known && std::chrono::steady_clock::now() - known->seen_time < kSizeLifetime) {
    return std::optional<uint64_t>(known->object_bytes);
  }
  // (Not by HEAD: servers refuse it where a signed link allows GET alone.)
  std::shared_ptr<CachedFetch> owner;
  H5ZARR_ASSIGN_OR_RETURN(const HttpFetch::Outcome outcome,
                          FetchNow({url, ByteRange::Suffix(1), {}, {}}, session_, &owner));
  if (outcome.absent) return std::optional<uint64_t>();
  return std::optional<uint64_t>(outcome.object_bytes);
}

}  // namespace

Result<std::unique_ptr<Store>> MakeHttpStore(std::string_view text, const HttpOptions& options) {
  H5ZARR_ASSIGN_OR_RETURN(const Url url, ParseUrl(text));
  H5ZARR_ASSIGN_OR_RETURN(std::shared_ptr<HttpSession> session, HttpSession::Make(url, options));
  H5ZARR_RETURN_IF_ERROR(HttpEngine::Get().status());
  return std::unique_ptr<Store>(std::make_unique<HttpStore>(url, std::move(session)));
}

}  // namespace h5zarr
