#include "store/reference_store.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/percent.h"
#include "store/http_engine.h"
#include "store/http_read.h"
#include "store/http_session.h"
#include "store/list_keys.h"
#include "store/local_store.h"
#include "store/packed_text.h"
#include "store/posix_file.h"
#include "store/read_only_store.h"
#include "store/read_plan.h"
#include "store/reference_index.h"
#include "store/tar_index.h"
#include "store/url.h"

namespace h5zarr {
namespace {

// Estimates: of a text's bytes decoded.
constexpr double kDecodeNsPerByte = 2;

// Where the bytes of a reference lie: a URL, an object in a bucket, or a file of this machine.
struct Target {
  std::optional<Url> url;
  std::string bucket;
  std::string path;                 // a key of the bucket, or of the store that is all files
  std::optional<TarMember> within;  // the part of the file that is meant
};

// Where relative targets lie.
struct Place {
  std::optional<Url> url;  // of a reference file on a web server,
  std::string bucket;      // or the bucket of one in S3…
  std::string folder;      // …with its folder there, or the folder of a local one
  std::string archive;     // the archive that it is a member of,
  TarMembers members;      // with what else is in that,
  Generation generation;   // and of a remote one its state

  bool is_remote() const { return url || !bucket.empty(); }
};

// The key of the file at `path`, which is absolute: without empty segments and dots.
std::string KeyOfFile(std::string_view path) {
  std::vector<std::string_view> kept;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view segment = path.substr(0, slash);
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
    if (segment == ".." && !kept.empty()) kept.pop_back();
    if (!segment.empty() && segment != "." && segment != "..") kept.push_back(segment);
  }
  std::string key;
  for (const std::string_view segment : kept) key.append(key.empty() ? "" : "/").append(segment);
  return key;
}

// Takes "s3://bucket/key" apart; no bucket where it is none, or no key of ours.
std::pair<std::string, std::string> SplitS3(std::string_view location) {
  if (!IsS3Url(location)) return {};
  location.remove_prefix(std::string_view("s3://").size());
  const std::size_t slash = std::min(location.find('/'), location.size());
  const std::string_view key = location.substr(std::min(slash + 1, location.size()));
  if (!CheckKey(key).ok()) return {};
  return {std::string(location.substr(0, slash)), std::string(key)};
}

class ReferenceStore : public ReadOnlyStore {
 public:
  ReferenceStore(std::unique_ptr<ReferenceIndex> index, std::string name, Place place,
                 std::shared_ptr<HttpSession> session, S3Options s3_options)
      : index_(std::move(index)),
        name_(std::move(name)),
        place_(std::move(place)),
        session_(std::move(session)),
        s3_options_(std::move(s3_options)),
        files_(MakeLocalStore("/", {.read_only = true})) {}

  std::string Describe() const override { return name_; }

  Status ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) override;
  Result<std::optional<Buffer>> Read(std::string_view key, Generation* generation) override;
  Result<std::optional<uint64_t>> ObjectBytes(std::string_view key) override;
  Result<std::vector<ListEntry>> List(std::string_view prefix) override {
    H5ZARR_RETURN_IF_ERROR(CheckKey(prefix, true));
    return ListKeys(index_->documents(), prefix);
  }
  Status Walk(std::string_view, const std::function<Status(std::string_view key, uint64_t bytes)>&) override {
    return UnsupportedError("'" + name_ + "': the sizes of all references are not known");
  }

 private:
  // Ops of a batch that one kind of target answers.
  struct Part {
    std::vector<ReadOp> ops;
    std::vector<std::size_t> indexes;  // of the batch's ops
    std::vector<Reference> references;
    std::vector<Url> urls;  // http: an op's key is its number here
    std::unordered_map<std::string, std::size_t> url_numbers;
  };

  Status Refusal() const override { return PermissionDeniedError("'" + name_ + "': references can only be read"); }
  Result<Target> Locate(std::string_view key, const Reference& reference) const;
  // Ops of a batch by what answers them.
  struct Sorted {
    Part texts, files, remote;
    std::map<std::string, Part> in_bucket;
  };
  Status Sort(std::span<ReadOp> ops, Sorted* sorted) const;
  Result<Store*> BucketStore(const std::string& bucket);
  Status DeliverText(const ReadOp& op, std::size_t index, const Reference& reference, const ReadSink& sink) const;
  ReadSink Translated(const Part& part, std::span<ReadOp> ops, const ReadSink& sink) const;

  const std::unique_ptr<ReferenceIndex> index_;
  const std::string name_;
  const Place place_;
  const std::shared_ptr<HttpSession> session_;
  const S3Options s3_options_;
  const std::unique_ptr<Store> files_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Store>> buckets_;  // guarded by mutex_; made when first asked for
};

Result<Target> ReferenceStore::Locate(std::string_view key, const Reference& reference) const {
  const std::string what = "'" + name_ + "', reference '" + std::string(key) + "'";
  Result<std::string> resolved = index_->Resolve(reference.url);
  if (!resolved.ok()) return resolved.status().WithContext(what);
  const std::string& text = *resolved;
  Target target;
  const std::size_t colon = text.find("://");
  const bool has_scheme = colon != std::string::npos && text.find('/') > colon;
  if (!place_.archive.empty() && !has_scheme && !text.starts_with('/')) {
    const auto member = place_.members.find(KeyOfFile(text));
    if (member == place_.members.end()) {
      return Status(StatusCode::kIo, what + " leads to '" + text + "', which is not in the archive", ENOENT);
    }
    target.url = place_.url;
    target.bucket = place_.bucket;
    target.path = KeyOfFile(place_.archive);
    target.within = member->second;
    return target;
  }
  if (IsS3Url(text)) {
    std::tie(target.bucket, target.path) = SplitS3(text);
    if (target.bucket.empty()) return CorruptError(what + " leads to '" + text + "', which is no object's name");
    return target;
  }
  if (IsHttpUrl(text) || (place_.url && !has_scheme)) {
    Result<Url> url = place_.url ? ResolveUrl(*place_.url, text) : ParseUrl(text);
    if (!url.ok()) return url.status().WithContext(what);
    target.url = std::move(*url);
    return target;
  }
  const bool is_file = text.starts_with("file://");
  if (has_scheme && !is_file) {
    return UnsupportedError(what + " leads to " + text.substr(0, colon) + "://, which is not supported");
  }
  if (place_.is_remote() && has_scheme) {
    return PermissionDeniedError(what + " leads to a file of this machine, which no remote file may name");
  }
  std::string path = is_file ? PercentDecoded(text.substr(7)) : text;
  if (is_file && path.starts_with("localhost/")) path.erase(0, 9);
  target.path = KeyOfFile(path.starts_with('/') ? path : place_.folder + "/" + path);
  if (target.path.empty()) return CorruptError(what + " leads nowhere");
  target.bucket = place_.bucket;
  return target;
}

// What the op's range of the reference's bytes means in `target`. A reference to a whole member of an archive
// becomes one of that part of it.
Result<ByteRange> RangeInTarget(const ReadOp& op, const Target& target, const std::string& name, Reference* reference) {
  if (target.within && reference->kind == Reference::Kind::kWhole) {
    reference->kind = Reference::Kind::kSpan;
    reference->length = target.within->size_bytes;
  }
  if (reference->kind == Reference::Kind::kWhole) return op.range;
  H5ZARR_ASSIGN_OR_RETURN(const ByteRange range, LocateRange(op, reference->length, name));
  const uint64_t offset = reference->offset + range.offset;
  if (!target.within) return ByteRange::Span(offset, range.length);
  if (offset + range.length > target.within->size_bytes) {
    return CorruptError(name + ": its target has only " + std::to_string(target.within->size_bytes) + " bytes");
  }
  return ByteRange::Span(target.within->offset + offset, range.length);
}

Status ReferenceStore::Sort(std::span<ReadOp> ops, Sorted* sorted) const {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const ReadOp& op = ops[i];
    H5ZARR_RETURN_IF_ERROR(CheckKey(op.key));
    Reference memory;
    const bool found = index_->Find(op.key, &memory) != nullptr;
    Part* part = &sorted->texts;
    ReadOp moved;
    if (found && memory.kind >= Reference::Kind::kWhole) {
      H5ZARR_ASSIGN_OR_RETURN(Target target, Locate(op.key, memory));
      H5ZARR_ASSIGN_OR_RETURN(moved.range,
                              RangeInTarget(op, target, "'" + name_ + "', reference '" + op.key + "'", &memory));
      moved.target = op.target;
      moved.expected = op.expected;
      moved.sink_cost_ns = op.sink_cost_ns;
      if (target.within && place_.generation.known()) moved.expected = place_.generation;
      moved.key = target.path;
      part = target.bucket.empty() ? &sorted->files : &sorted->in_bucket[target.bucket];
      if (target.url) {
        part = &sorted->remote;
        // One key for each object, so that its ranges are joined.
        const auto [number, is_new] = part->url_numbers.emplace(target.url->Text(), part->urls.size());
        if (is_new) part->urls.push_back(std::move(*target.url));
        moved.key = std::to_string(number->second);
      }
    }
    part->ops.push_back(std::move(moved));
    part->indexes.push_back(i);
    if (!found) memory.kind = Reference::Kind::kWhole;  // among texts: absent
    part->references.push_back(memory);
  }
  return OkStatus();
}

Status ReferenceStore::DeliverText(const ReadOp& op, std::size_t index, const Reference& reference,
                                   const ReadSink& sink) const {
  if (reference.kind == Reference::Kind::kWhole) return sink(index, ReadResult{});
  const std::string name = "'" + name_ + "', reference '" + op.key + "'";
  Result<Buffer> decoded = ReferenceIndex::Decode(reference);
  if (!decoded.ok()) return decoded.status().WithContext(name);
  H5ZARR_ASSIGN_OR_RETURN(const ByteRange range, LocateRange(op, decoded->size_bytes(), name));
  ByteSpan bytes = std::as_const(*decoded).span().subspan(range.offset, range.length);
  if (!op.target.empty()) {
    std::memcpy(op.target.data(), bytes.data(), bytes.size());
    bytes = op.target;
  }
  ReadResult result;
  result.bytes = bytes;
  result.object_bytes = decoded->size_bytes();
  return sink(index, result);
}

// The sink of a part's own ops: answers are those of the references.
ReadSink ReferenceStore::Translated(const Part& part, std::span<ReadOp> ops, const ReadSink& sink) const {
  return [this, &part, ops, &sink](std::size_t number, const ReadResult& found) -> Status {
    const std::size_t index = part.indexes[number];
    const Reference& reference = part.references[number];
    if (!found.bytes) {
      return Status(StatusCode::kIo,
                    "'" + name_ + "', reference '" + ops[index].key + "': its target '" + ShownName(reference.url) +
                        "' is not there",
                    ENOENT);
    }
    ReadResult result = found;
    if (reference.kind == Reference::Kind::kSpan) result.object_bytes = reference.length;
    return sink(index, result);
  };
}

Status ReferenceStore::ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) {
  Sorted sorted;
  H5ZARR_RETURN_IF_ERROR(Sort(ops, &sorted));
  Part& texts = sorted.texts;
  Part& files = sorted.files;
  Part& remote = sorted.remote;
  double cost_ns = 0;
  for (std::size_t i = 0; i < texts.indexes.size(); ++i) {
    cost_ns +=
        ops[texts.indexes[i]].sink_cost_ns + kDecodeNsPerByte * static_cast<double>(texts.references[i].text.size());
  }
  H5ZARR_RETURN_IF_ERROR(executor.ParallelFor(texts.indexes.size(), cost_ns, [&](std::size_t i) {
    return DeliverText(ops[texts.indexes[i]], texts.indexes[i], texts.references[i], sink);
  }));
  if (!files.ops.empty()) {
    H5ZARR_RETURN_IF_ERROR(files_->ReadBatch(files.ops, Translated(files, ops, sink), executor));
  }
  for (auto& [bucket, part] : sorted.in_bucket) {
    H5ZARR_ASSIGN_OR_RETURN(Store* const store, BucketStore(bucket));
    H5ZARR_RETURN_IF_ERROR(store->ReadBatch(part.ops, Translated(part, ops, sink), executor));
  }
  if (remote.ops.empty()) return OkStatus();
  const auto url_of = [&remote](std::string_view key) { return remote.urls[std::stoul(std::string(key))]; };
  return ReadHttpBatch(url_of, session_, remote.ops, Translated(remote, ops, sink), executor);
}

Result<Store*> ReferenceStore::BucketStore(const std::string& bucket) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<Store>& store = buckets_[bucket];
  if (store == nullptr) {
    H5ZARR_ASSIGN_OR_RETURN(store, MakeS3Store("s3://" + bucket, s3_options_));
  }
  return store.get();
}

Result<std::optional<Buffer>> ReferenceStore::Read(std::string_view key, Generation* generation) {
  if (generation != nullptr) *generation = Generation();
  std::optional<Buffer> read;
  ReadOp op;
  op.key = key;
  const auto sink = [&](std::size_t, const ReadResult& result) -> Status {
    if (!result.bytes) return OkStatus();
    if (generation != nullptr) *generation = result.generation;
    H5ZARR_ASSIGN_OR_RETURN(read, Buffer::CopyOf(*result.bytes));
    return OkStatus();
  };
  Executor executor(1);
  H5ZARR_RETURN_IF_ERROR(ReadBatch({&op, 1}, sink, executor));
  return read;
}

Result<std::optional<uint64_t>> ReferenceStore::ObjectBytes(std::string_view key) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(key));
  Reference memory;
  const Reference* const reference = index_->Find(key, &memory);
  if (reference == nullptr) return std::optional<uint64_t>();
  if (reference->kind == Reference::Kind::kSpan) return std::optional<uint64_t>(reference->length);
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<Buffer> bytes, Read(key, nullptr));
  if (!bytes) return std::optional<uint64_t>();
  return std::optional<uint64_t>(bytes->size_bytes());
}

Result<Buffer> AllocateText(std::size_t text_bytes) {
  return Buffer::Allocate(text_bytes + ReferenceIndex::kPaddingBytes);
}

// A text that takes as much memory is none that anybody wants to open.
constexpr uint64_t kMostTextBytes = uint64_t{4} << 30;

// The first `text_bytes` of `text`, which is larger by ReferenceIndex::kPaddingBytes, are the reference file, as it is
// or packed.
Result<std::unique_ptr<Store>> MakeReferenceStore(Buffer text, std::size_t text_bytes, std::string name, Place place,
                                                  const ReferenceOptions& options) {
  const std::string_view stored(reinterpret_cast<const char*>(text.data()), text_bytes);
  if (IsPackedText(stored)) {
    const Result<std::string> plain = UnpackText(stored, kMostTextBytes);
    if (!plain.ok()) return plain.status().WithContext("'" + name + "'");
    text_bytes = plain->size();
    H5ZARR_ASSIGN_OR_RETURN(text, AllocateText(text_bytes));
    std::memcpy(text.data(), plain->data(), text_bytes);
  }
  std::memset(text.data() + text_bytes, 0, ReferenceIndex::kPaddingBytes);
  // (Extra headers go to the server that the file is on, and to no other.)
  H5ZARR_ASSIGN_OR_RETURN(std::shared_ptr<HttpSession> session,
                          HttpSession::Make(place.url.value_or(Url()), options.http));
  Result<std::unique_ptr<ReferenceIndex>> index = ReferenceIndex::Parse(std::move(text), text_bytes);
  if (!index.ok()) return index.status().WithContext("'" + name + "'");
  return std::unique_ptr<Store>(std::make_unique<ReferenceStore>(std::move(*index), std::move(name), std::move(place),
                                                                 std::move(session), options.s3));
}

// LINDI's reference file in its archive.
Result<TarMember> DocumentOf(const Place& place, const std::string& name) {
  const auto found = place.members.find("lindi.json");
  if (found != place.members.end()) return found->second;
  return NotFoundError("'" + name + "': the archive has no member lindi.json");
}

// The store of the reference file that is `where` of the file at `path`.
Result<std::unique_ptr<Store>> OpenLocal(const std::string& path, std::optional<TarMember> where, Place place,
                                         const ReferenceOptions& options) {
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<OpenObject> file, OpenForReading(path, WhenBlocked::kError));
  if (!file) return NotFoundError("'" + path + "' is not there");
  if (!where) where = TarMember{0, file->object_bytes};
  H5ZARR_ASSIGN_OR_RETURN(Buffer text, AllocateText(where->size_bytes));
  H5ZARR_RETURN_IF_ERROR(ReadExactly(file->file.fd(), where->offset, text.span().first(where->size_bytes), path));
  return MakeReferenceStore(std::move(text), where->size_bytes, path, std::move(place), options);
}

// Sets the place of the remote file at `location`; its key where it is in a bucket.
Result<std::string> SetRemotePlace(const std::string& location, Place* place) {
  if (!IsS3Url(location)) {
    H5ZARR_ASSIGN_OR_RETURN(place->url, ParseUrl(location));
    return std::string();
  }
  std::string key;
  std::tie(place->bucket, key) = SplitS3(location);
  if (place->bucket.empty()) return InvalidArgumentError("'" + location + "': no name of an object in S3");
  place->folder = key.substr(0, key.rfind('/') + 1);
  return key;
}

}  // namespace

Result<std::unique_ptr<Store>> OpenReferences(const std::string& path, const ReferenceOptions& options) {
  Place place;
  place.folder = ParentPath(path);
  return OpenLocal(path, std::nullopt, std::move(place), options);
}

Result<std::unique_ptr<Store>> OpenTarReferences(const std::string& path, const ReferenceOptions& options) {
  Place place;
  place.archive = path;
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<OpenObject> file, OpenForReading(path, WhenBlocked::kError));
  if (!file) return NotFoundError("'" + path + "' is not there");
  const auto read = [&](uint64_t offset, MutableByteSpan target) {
    return ReadExactly(file->file.fd(), offset, target, path);
  };
  H5ZARR_ASSIGN_OR_RETURN(place.members, ReadTarIndex(path, file->object_bytes, read));
  H5ZARR_ASSIGN_OR_RETURN(const TarMember document, DocumentOf(place, path));
  return OpenLocal(path, document, std::move(place), options);
}

Result<std::unique_ptr<Store>> OpenRemoteTarReferences(std::shared_ptr<RemoteFile> file, const std::string& location,
                                                       const ReferenceOptions& options) {
  Place place;
  H5ZARR_ASSIGN_OR_RETURN(place.archive, SetRemotePlace(location, &place));
  if (place.url) place.archive = file->name();
  place.generation = file->generation();
  const auto read = [&](uint64_t offset, MutableByteSpan target) { return file->Read(offset, target); };
  Result<TarMembers> members = ReadLindiTarIndex(file->name(), file->file_bytes(), read);
  if (members.status().code() == StatusCode::kNotFound) {
    members = ReadTarIndex(file->name(), file->file_bytes(), read);
  }
  if (!members.ok()) return members.status();
  place.members = std::move(*members);
  H5ZARR_ASSIGN_OR_RETURN(const TarMember document, DocumentOf(place, file->name()));
  H5ZARR_ASSIGN_OR_RETURN(Buffer text, AllocateText(document.size_bytes));
  H5ZARR_RETURN_IF_ERROR(file->Read(document.offset, text.span().first(document.size_bytes)));
  return MakeReferenceStore(std::move(text), document.size_bytes, file->name(), std::move(place), options);
}

Result<std::unique_ptr<Store>> OpenRemoteReferences(const std::string& location, const ReferenceOptions& options) {
  Place place;
  H5ZARR_ASSIGN_OR_RETURN(const std::string key, SetRemotePlace(location, &place));
  const std::string name = ShownName(location);
  const auto make = [&](ByteSpan bytes) -> Result<std::unique_ptr<Store>> {
    H5ZARR_ASSIGN_OR_RETURN(Buffer text, AllocateText(bytes.size()));
    if (!bytes.empty()) std::memcpy(text.data(), bytes.data(), bytes.size());
    return MakeReferenceStore(std::move(text), bytes.size(), name, std::move(place), options);
  };
  if (place.url) {
    H5ZARR_ASSIGN_OR_RETURN(std::shared_ptr<HttpSession> session, HttpSession::Make(*place.url, options.http));
    std::shared_ptr<CachedFetch> owner;
    H5ZARR_ASSIGN_OR_RETURN(const HttpFetch::Outcome outcome,
                            FetchNow({*place.url, ByteRange::Whole(), {}, {}}, session, &owner));
    if (!outcome.absent) return make(outcome.bytes);
  } else {
    H5ZARR_ASSIGN_OR_RETURN(const auto bucket, MakeS3Store("s3://" + place.bucket, options.s3));
    H5ZARR_ASSIGN_OR_RETURN(const std::optional<Buffer> bytes, bucket->Read(key));
    if (bytes) return make(bytes->span());
  }
  return NotFoundError("'" + name + "' is not there");
}

}  // namespace h5zarr
