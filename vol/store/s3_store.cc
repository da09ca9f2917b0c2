#include "store/s3_store.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "store/http_engine.h"
#include "store/http_fetch.h"
#include "store/http_read.h"
#include "store/s3_client.h"
#include "store/s3_upload.h"
#include "store/url.h"

namespace h5zarr {
namespace {

constexpr std::string_view kScheme = "s3://";
// A size that was seen so recently is believed: each batch that met an absent chunk asks for its array's.
constexpr std::chrono::seconds kSizeLifetime{5};
constexpr uint64_t kMaxCopyBytes = 5ull << 30;  // S3's limit for one request
// One request for so many bytes, and parts for more.
constexpr uint64_t kMaxPutBytes = 2 * kS3PartBytes;

// The names of metadata documents, of either format, begin so, and those of chunks do not.
bool IsLikeDocument(std::string_view key) {
  const std::size_t slash = key.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? key : key.substr(slash + 1);
  return name.starts_with('.') || name.starts_with('z');
}

class S3Store : public Store {
 public:
  S3Store(std::string bucket, std::string root, std::shared_ptr<S3Client> client, S3Options options)
      : bucket_(std::move(bucket)), root_(std::move(root)), client_(std::move(client)), options_(std::move(options)) {}

  std::string Describe() const override { return std::string(kScheme) + bucket_ + (root_.empty() ? "" : "/" + root_); }
  bool read_only() const override { return options_.read_only; }

  Status ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) override;
  Result<std::optional<Buffer>> Read(std::string_view key, Generation* generation) override;
  Status Write(std::string_view key, ByteSpan bytes) override;
  Result<bool> WriteNew(std::string_view key, ByteSpan bytes, Generation* written) override;
  Result<bool> Replace(std::string_view key, ByteSpan bytes, const Generation& expected, Generation* written) override;
  void StartWrite(std::string_view key, ByteSpan bytes, std::function<void(Status)> done) override;
  Result<std::unique_ptr<ObjectWriter>> BeginWrite(std::string_view key) override;
  Result<bool> Delete(std::string_view key) override;
  Status DeletePrefix(std::string_view prefix) override;
  Status RenamePrefix(std::string_view from, std::string_view to) override;
  Result<std::optional<uint64_t>> ObjectBytes(std::string_view key) override;
  Result<std::vector<ListEntry>> List(std::string_view prefix) override;
  Status Walk(std::string_view prefix,
              const std::function<Status(std::string_view key, uint64_t bytes)>& visit) override;
  // (S3 has no locks.)
  Result<std::shared_ptr<void>> Lock(std::string_view document_key, uint64_t) override {
    H5ZARR_RETURN_IF_ERROR(CheckKey(document_key));
    H5ZARR_RETURN_IF_ERROR(CheckWritable());
    return std::shared_ptr<void>();
  }

 private:
  std::string FullKey(std::string_view key) const {
    return root_.empty() ? std::string(key) : key.empty() ? root_ : root_ + "/" + std::string(key);
  }
  // What begins all keys below `prefix`.
  std::string Below(std::string_view prefix) const {
    const std::string full = FullKey(prefix);
    return full.empty() ? full : full + "/";
  }
  std::string Name(std::string_view key) const {
    return "'" + std::string(kScheme) + bucket_ + "/" + FullKey(key) + "'";
  }
  Status CheckWritable() const {
    if (!options_.read_only) return OkStatus();
    return PermissionDeniedError("'" + Describe() + "' was opened for reading only");
  }
  Status Settle(const std::string& full_key);
  Result<std::optional<bool>> WriteIf(const std::string& condition, std::string_view key, ByteSpan bytes,
                                      Generation* written);
  S3Upload::OnWritten Remember(const std::string& full_key) const;
  Result<std::vector<S3Page::Object>> ListAll(std::string_view prefix);
  Status DeleteAll(const std::vector<std::string>& full_keys);
  Status CopyAll(const std::vector<S3Page::Object>& objects, const std::string& from, const std::string& to);

  const std::string bucket_;
  const std::string root_;  // without '/' at its ends
  const std::shared_ptr<S3Client> client_;
  const S3Options options_;
  std::atomic<bool> knows_no_conditions_{false};
};

// --- reading ---------------------------------------------------------------------------------------

// Finds the bucket's region by the object `full_key`, where it is not known yet. (Not by HEAD: only an answer with
// a body always says it.)
Status S3Store::Settle(const std::string& full_key) {
  H5ZARR_RETURN_IF_ERROR(client_->RefreshKeys());
  if (client_->is_settled()) return OkStatus();
  return client_->Call("GET", full_key, "", {"Range: bytes=0-0"}).status();
}

Status S3Store::ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) {
  if (ops.empty()) return OkStatus();
  H5ZARR_RETURN_IF_ERROR(CheckKey(ops[0].key));
  H5ZARR_RETURN_IF_ERROR(Settle(FullKey(ops[0].key)));
  const auto url_of = [this](std::string_view key) { return client_->UrlOf(FullKey(key)); };
  return ReadHttpBatch(url_of, client_->session(), ops, sink, executor);
}

Result<std::optional<Buffer>> S3Store::Read(std::string_view key, Generation* generation) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(key));
  if (generation != nullptr) *generation = Generation();
  H5ZARR_RETURN_IF_ERROR(Settle(FullKey(key)));
  std::shared_ptr<CachedFetch> owner;
  H5ZARR_ASSIGN_OR_RETURN(
      const HttpFetch::Outcome outcome,
      FetchNow({client_->UrlOf(FullKey(key)), ByteRange::Whole(), {}, {}}, client_->session(), &owner));
  if (outcome.absent) return std::optional<Buffer>();
  if (generation != nullptr) *generation = outcome.generation;
  H5ZARR_ASSIGN_OR_RETURN(Buffer bytes, Buffer::CopyOf(outcome.bytes));
  return std::optional<Buffer>(std::move(bytes));
}

Result<std::optional<uint64_t>> S3Store::ObjectBytes(std::string_view key) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(key));
  const std::string full_key = FullKey(key);
  const std::string url = client_->UrlOf(full_key).Text();
  const std::optional<HttpSession::Known> known = client_->session()->Find(url);
  if (known && std::chrono::steady_clock::now() - known->seen_time < kSizeLifetime) {
    return std::optional<uint64_t>(known->object_bytes);
  }
  H5ZARR_ASSIGN_OR_RETURN(const HttpCall::Outcome answer, client_->Call("HEAD", full_key));
  const int status = answer.headers.status;
  if (status == 404 || (status == 403 && options_.http.missing_is_403)) return std::optional<uint64_t>();
  if (status != 200 || !answer.headers.content_length) return S3Error(answer, Name(key));
  const uint64_t bytes = *answer.headers.content_length;
  client_->session()->NoteState(url, answer.headers.etag,
                                GenerationOf(answer.headers.etag, answer.headers.last_modified, bytes), bytes);
  return std::optional<uint64_t>(bytes);
}

Result<std::vector<ListEntry>> S3Store::List(std::string_view prefix) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(prefix, true));
  const std::string below = Below(prefix);
  std::map<std::string, bool> is_prefix_of_name;
  std::string token;
  do {
    H5ZARR_ASSIGN_OR_RETURN(const S3Page page, client_->List(below, true, token));
    const auto add = [&](std::string_view full_key, bool is_prefix) {
      if (!full_key.starts_with(below)) return;
      const std::string name(full_key.substr(below.size()));
      // (Others may have keys that are none here: folders' own, for one.)
      if (CheckKey(name).ok()) is_prefix_of_name[name] |= is_prefix;
    };
    for (const S3Page::Object& object : page.objects) add(object.key, false);
    for (const std::string& common : page.prefixes) {
      add(std::string_view(common).substr(0, common.size() - 1), true);
    }
    token = page.next_token;
  } while (!token.empty());
  std::vector<ListEntry> entries;
  for (const auto& [name, is_prefix] : is_prefix_of_name) entries.push_back({name, is_prefix});
  return entries;
}

Result<std::vector<S3Page::Object>> S3Store::ListAll(std::string_view prefix) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(prefix, true));
  std::vector<S3Page::Object> objects;
  std::string token;
  do {
    H5ZARR_ASSIGN_OR_RETURN(S3Page page, client_->List(Below(prefix), false, token));
    std::move(page.objects.begin(), page.objects.end(), std::back_inserter(objects));
    token = page.next_token;
  } while (!token.empty());
  return objects;
}

Status S3Store::Walk(std::string_view prefix,
                     const std::function<Status(std::string_view key, uint64_t bytes)>& visit) {
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<S3Page::Object> objects, ListAll(prefix));
  const std::string below = Below("");
  for (const S3Page::Object& object : objects) {
    if (!object.key.starts_with(below)) continue;
    const std::string_view key = std::string_view(object.key).substr(below.size());
    if (CheckKey(key).ok()) H5ZARR_RETURN_IF_ERROR(visit(key, object.size_bytes));
  }
  return OkStatus();
}

// --- writing ---------------------------------------------------------------------------------------

S3Upload::OnWritten S3Store::Remember(const std::string& full_key) const {
  return [client = client_.get(), full_key](const std::string& etag, uint64_t bytes) {
    client->session()->NoteState(client->UrlOf(full_key).Text(), etag, GenerationOf(etag, "", bytes), bytes);
  };
}

Status S3Store::Write(std::string_view key, ByteSpan bytes) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(key));
  H5ZARR_RETURN_IF_ERROR(CheckWritable());
  const std::string full_key = FullKey(key);
  if (bytes.size() > kMaxPutBytes) {
    S3Upload upload(client_.get(), full_key, Remember(full_key));
    H5ZARR_RETURN_IF_ERROR(upload.AppendLasting(bytes));
    return upload.Commit();
  }
  H5ZARR_ASSIGN_OR_RETURN(const HttpCall::Outcome answer, client_->Call("PUT", full_key, "", {}, bytes));
  if (answer.headers.status != 200) return S3Error(answer, "writing " + Name(key));
  Remember(full_key)(answer.headers.etag, bytes.size());
  return OkStatus();
}

// Nothing where the server knows no conditions, which it is asked once.
Result<std::optional<bool>> S3Store::WriteIf(const std::string& condition, std::string_view key, ByteSpan bytes,
                                             Generation* written) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(key));
  H5ZARR_RETURN_IF_ERROR(CheckWritable());
  if (knows_no_conditions_.load(std::memory_order_relaxed)) return std::optional<bool>();
  const std::string full_key = FullKey(key);
  H5ZARR_ASSIGN_OR_RETURN(const HttpCall::Outcome answer, client_->Call("PUT", full_key, "", {condition}, bytes));
  switch (answer.headers.status) {
    case 200:
      Remember(full_key)(answer.headers.etag, bytes.size());
      if (written != nullptr && !answer.headers.etag.empty()) {
        *written = GenerationOf(answer.headers.etag, "", bytes.size());
      }
      return std::optional<bool>(true);
    case 404:
    case 412: break;  // 404: what was to be replaced is gone
    case 501: knows_no_conditions_.store(true, std::memory_order_relaxed); return std::optional<bool>();
    default: return S3Error(answer, "writing " + Name(key));
  }
  client_->session()->Forget(client_->UrlOf(full_key).Text());
  if (!answer.repeated_blindly) return std::optional<bool>(false);
  return Status(StatusCode::kIo, "writing " + Name(key) + ": an attempt whose answer was lost may have written it: " +
                                     answer.headers.ShownStatus() + " to the next");
}

Result<bool> S3Store::WriteNew(std::string_view key, ByteSpan bytes, Generation* written) {
  if (written != nullptr) *written = Generation();
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<bool> done, WriteIf("If-None-Match: *", key, bytes, written));
  return done ? Result<bool>(*done) : Store::WriteNew(key, bytes, written);
}

Result<bool> S3Store::Replace(std::string_view key, ByteSpan bytes, const Generation& expected, Generation* written) {
  if (written != nullptr) *written = Generation();
  H5ZARR_RETURN_IF_ERROR(CheckKey(key));
  const std::string url = client_->UrlOf(FullKey(key)).Text();
  std::optional<HttpSession::Known> known = client_->session()->Find(url);
  if (!known || known->etag.empty()) {
    H5ZARR_RETURN_IF_ERROR(ObjectBytes(key).status());
    known = client_->session()->Find(url);
  }
  if (!known || known->generation != expected) return false;
  if (known->etag.empty()) return Store::Replace(key, bytes, expected, written);
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<bool> done, WriteIf("If-Match: " + known->etag, key, bytes, written));
  return done ? Result<bool>(*done) : Store::Replace(key, bytes, expected, written);
}

void S3Store::StartWrite(std::string_view key, ByteSpan bytes, std::function<void(Status)> done) {
  // (The first requests find the bucket's region; large objects have parts on their way.)
  if (bytes.size() > kMaxPutBytes || !client_->is_settled() || options_.read_only || !CheckKey(key).ok()) {
    done(Write(key, bytes));
    return;
  }
  const std::string full_key = FullKey(key);
  Result<HttpCall::Query> query = client_->Prepare("PUT", full_key, "", {}, bytes);
  if (!query.ok()) {
    done(query.status());
    return;
  }
  // The engine keeps the call until its function returns.
  const auto self = std::make_shared<const HttpCall*>();
  const auto shared_done = std::make_shared<std::function<void(Status)>>(std::move(done));
  const auto finish = [self, shared_done, name = "writing " + Name(key), size_bytes = bytes.size(),
                       remember = Remember(full_key)] {
    const HttpCall::Outcome& answer = (*self)->outcome();
    Status status = answer.status;
    if (status.ok() && answer.headers.status != 200) status = S3Error(answer, name);
    if (status.ok()) remember(answer.headers.etag, size_bytes);
    (*shared_done)(std::move(status));
  };
  const auto call = std::make_shared<HttpCall>(std::move(*query), client_->session(), finish);
  *self = call.get();
  const Result<HttpEngine*> engine = HttpEngine::Get();
  if (!engine.ok()) {
    (*shared_done)(engine.status());
    return;
  }
  (*engine)->Submit(call);
}

Result<std::unique_ptr<ObjectWriter>> S3Store::BeginWrite(std::string_view key) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(key));
  H5ZARR_RETURN_IF_ERROR(CheckWritable());
  const std::string full_key = FullKey(key);
  return std::unique_ptr<ObjectWriter>(std::make_unique<S3Upload>(client_.get(), full_key, Remember(full_key)));
}

Result<bool> S3Store::Delete(std::string_view key) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(key));
  H5ZARR_RETURN_IF_ERROR(CheckWritable());
  // (S3's answer is the same where there was nothing.)
  H5ZARR_RETURN_IF_ERROR(DeleteAll({FullKey(key)}));
  return true;
}

Status S3Store::DeleteAll(const std::vector<std::string>& full_keys) {
  std::vector<HttpCall::Query> calls;
  for (const std::string& full_key : full_keys) {
    H5ZARR_ASSIGN_OR_RETURN(HttpCall::Query call, client_->Prepare("DELETE", full_key, ""));
    calls.push_back(std::move(call));
  }
  return client_->CallAll(calls, [&](std::size_t i, const HttpCall::Outcome& answer) -> Status {
    client_->session()->Forget(calls[i].head.url.Text());
    const int status = answer.headers.status;
    if (status == 200 || status == 204 || status == 404) return OkStatus();
    return S3Error(answer, "removing 's3://" + bucket_ + "/" + full_keys[i] + "'");
  });
}

Status S3Store::DeletePrefix(std::string_view prefix) {
  H5ZARR_RETURN_IF_ERROR(CheckWritable());
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<S3Page::Object> objects, ListAll(prefix));
  // Ended in the middle, it leaves chunks without a document rather than a document without its chunks.
  std::vector<std::string> documents, others;
  for (const S3Page::Object& object : objects) {
    (IsLikeDocument(object.key) ? documents : others).push_back(object.key);
  }
  H5ZARR_RETURN_IF_ERROR(DeleteAll(documents));
  return DeleteAll(others);
}

Status S3Store::CopyAll(const std::vector<S3Page::Object>& objects, const std::string& from, const std::string& to) {
  std::vector<HttpCall::Query> calls;
  for (const S3Page::Object& object : objects) {
    const std::string source = "/" + PercentEncode(bucket_) + "/" + PercentEncode(object.key);
    H5ZARR_ASSIGN_OR_RETURN(HttpCall::Query call, client_->Prepare("PUT", to + object.key.substr(from.size()), "",
                                                                   {"x-amz-copy-source: " + source}));
    calls.push_back(std::move(call));
  }
  return client_->CallAll(calls, [&](std::size_t i, const HttpCall::Outcome& answer) -> Status {
    // S3 may say 200 before it knows: what counts is in the body.
    const bool is_done = answer.headers.status == 200 && answer.body.find("<CopyObjectResult") != std::string::npos;
    if (is_done) return OkStatus();
    return S3Error(answer, "copying 's3://" + bucket_ + "/" + objects[i].key + "'");
  });
}

Status S3Store::RenamePrefix(std::string_view from, std::string_view to) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(from));
  H5ZARR_RETURN_IF_ERROR(CheckKey(to));
  H5ZARR_RETURN_IF_ERROR(CheckWritable());
  const std::string name = "cannot rename " + Name(from) + " to " + Name(to);
  if ((std::string(to) + "/").starts_with(std::string(from) + "/") && from != to) {
    return InvalidArgumentError(name + ": the one lies below the other");
  }
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<S3Page::Object> objects, ListAll(from));
  if (objects.empty()) return NotFoundError(name + ": there is nothing");
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<ListEntry> there, List(to));
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<uint64_t> taken, ObjectBytes(to));
  if (taken || !there.empty()) return AlreadyExistsError(name + ": that exists");
  std::vector<S3Page::Object> documents, others;
  std::vector<std::string> copies;
  for (const S3Page::Object& object : objects) {
    if (object.size_bytes > kMaxCopyBytes) {
      return UnsupportedError(name + ": 's3://" + bucket_ + "/" + object.key + "' has " +
                              std::to_string(object.size_bytes) + " bytes, more than S3 copies at once");
    }
    (IsLikeDocument(object.key) ? documents : others).push_back(object);
    copies.push_back(FullKey(to) + object.key.substr(FullKey(from).size()));
  }
  // A document is never seen without its chunks, in either place.
  Status copied = CopyAll(others, FullKey(from), FullKey(to));
  if (copied.ok()) copied = CopyAll(documents, FullKey(from), FullKey(to));
  if (!copied.ok()) {
    (void)DeleteAll(copies).ok();
    return copied;
  }
  return DeletePrefix(from);
}

}  // namespace

Result<std::unique_ptr<Store>> MakeS3Store(std::string_view location, const S3Options& options) {
  const auto refuse = [&](const char* why) { return InvalidArgumentError("'" + std::string(location) + "': " + why); };
  if (!IsS3Url(location)) return refuse("not s3://bucket/name");
  std::string_view rest = location.substr(kScheme.size());
  if (rest.find('\0') != std::string_view::npos) return refuse("a NUL character");
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string bucket(rest.substr(0, slash));
  if (bucket.empty()) return refuse("no bucket is named");
  rest.remove_prefix(slash);
  while (rest.starts_with('/')) rest.remove_prefix(1);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  if (!CheckKey(rest, true).ok()) return refuse("empty or dotted parts of the name");
  H5ZARR_RETURN_IF_ERROR(HttpEngine::Get().status());
  H5ZARR_ASSIGN_OR_RETURN(std::shared_ptr<S3Client> client, S3Client::Make(bucket, options));
  return std::unique_ptr<Store>(std::make_unique<S3Store>(bucket, std::string(rest), std::move(client), options));
}

}  // namespace h5zarr
