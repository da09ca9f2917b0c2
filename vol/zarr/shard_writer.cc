#include "zarr/shard_writer.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace h5zarr::zarr {

ShardWriter::ShardWriter(Store* store, std::string key, const CodecChain::Sharding& sharding, uint64_t groups,
                         uint64_t max_waiting_bytes, ScratchPool* scratch)
    : store_(store),
      key_(std::move(key)),
      sharding_(sharding),
      groups_(groups),
      max_waiting_bytes_(max_waiting_bytes),
      scratch_(scratch),
      in_memory_(sharding.format.at_start || groups == 1),
      index_(sharding.entries),
      end_bytes_(sharding.format.at_start ? sharding.index_bytes : 0) {}

Status ShardWriter::Put(uint64_t group, EncodedGroup encoded) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return !failure_.ok() || group == next_group_ || waiting_bytes_ <= max_waiting_bytes_; });
  if (!failure_.ok()) return failure_;
  waiting_bytes_ += encoded.bytes.size();
  waiting_.emplace(group, std::move(encoded));
  if (storing_) return OkStatus();
  storing_ = true;
  while (failure_.ok() && !waiting_.empty() && waiting_.begin()->first == next_group_) {
    auto next = waiting_.extract(waiting_.begin());
    waiting_bytes_ -= next.mapped().bytes.size();
    ++next_group_;
    changed_.notify_all();
    lock.unlock();
    Status status = StoreGroup(std::move(next.mapped()));
    lock.lock();
    if (failure_.ok()) failure_ = std::move(status);
  }
  if (failure_.ok() && next_group_ == groups_) {
    lock.unlock();
    Status status = Finish();
    lock.lock();
    if (failure_.ok()) failure_ = std::move(status);
  }
  storing_ = false;
  if (!failure_.ok()) changed_.notify_all();
  return failure_;
}

void ShardWriter::Fail(const Status& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (failure_.ok()) failure_ = status;
  changed_.notify_all();
}

Status ShardWriter::outcome() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

Status ShardWriter::StoreGroup(EncodedGroup group) {
  for (const EncodedGroup::Chunks& chunks : group.chunks) {
    const auto all_bytes = CheckedMul(chunks.chunk_bytes, chunks.count);
    if (!all_bytes || !CheckedAdd(end_bytes_, *all_bytes)) {
      return OutOfRangeError("a shard would exceed 2^64 bytes");
    }
    for (uint64_t i = 0; i < chunks.count; ++i) {
      index_[chunks.first_entry + i] = {end_bytes_, chunks.chunk_bytes};
      end_bytes_ += chunks.chunk_bytes;
    }
    empty_ = false;
  }
  if (in_memory_) {
    held_.push_back(std::move(group));
    return OkStatus();
  }
  if (!group.bytes.empty()) {
    if (writer_ == nullptr) {
      H5ZARR_ASSIGN_OR_RETURN(writer_, store_->BeginWrite(key_));
    }
    H5ZARR_RETURN_IF_ERROR(writer_->Append(group.bytes));
  }
  if (!group.owner.empty()) scratch_->Return(std::move(group.owner));
  return OkStatus();
}

Status ShardWriter::Finish() {
  if (empty_) return store_->Delete(key_).status();
  const uint64_t index_bytes = sharding_.index_bytes;
  if (sharding_.format.at_start) return FinishInMemory();
  if (groups_ == 1 && held_[0].owner.size_bytes() >= end_bytes_ + index_bytes) {
    // There is room for the index behind the chunks.
    const MutableByteSpan shard = held_[0].owner.span().first(end_bytes_ + index_bytes);
    H5ZARR_RETURN_IF_ERROR(sharding_.EncodeIndex(index_, shard.last(index_bytes)));
    Status status = store_->Write(key_, shard);
    scratch_->Return(std::move(held_[0].owner));
    return status;
  }
  if (writer_ == nullptr) {
    H5ZARR_ASSIGN_OR_RETURN(writer_, store_->BeginWrite(key_));
    for (const EncodedGroup& group : held_) {
      H5ZARR_RETURN_IF_ERROR(writer_->Append(group.bytes));
    }
  }
  H5ZARR_ASSIGN_OR_RETURN(Buffer index, Buffer::Allocate(index_bytes));
  H5ZARR_RETURN_IF_ERROR(sharding_.EncodeIndex(index_, index.span()));
  H5ZARR_RETURN_IF_ERROR(writer_->Append(index.span()));
  return writer_->Commit();
}

// The index stands before what it describes.
Status ShardWriter::FinishInMemory() {
  H5ZARR_ASSIGN_OR_RETURN(Buffer shard, Buffer::Allocate(end_bytes_));
  H5ZARR_RETURN_IF_ERROR(sharding_.EncodeIndex(index_, shard.span().first(sharding_.index_bytes)));
  std::byte* to = shard.data() + sharding_.index_bytes;
  for (EncodedGroup& group : held_) {
    to = std::copy(group.bytes.begin(), group.bytes.end(), to);
    group.owner = Buffer();
  }
  return store_->Write(key_, shard.span());
}

}  // namespace h5zarr::zarr
