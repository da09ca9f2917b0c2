#include "transfer/written_members.h"

#include <algorithm>
#include <string>

#include "host/handle.h"
#include "shadow/h5_types.h"

namespace h5zarr::transfer {
namespace {

using zarr::Json;

std::string MemberName(hid_t compound, unsigned index) {
  char* name = H5Tget_member_name(compound, index);
  std::string copy(name != nullptr ? name : "");
  H5free_memory(name);
  return copy;
}

// The member of that name, or an invalid handle.
Handle MemberOf(hid_t compound, const std::string& name) {
  for (int i = 0; i < H5Tget_nmembers(compound); ++i) {
    const auto index = static_cast<unsigned>(i);
    if (MemberName(compound, index) == name) return Handle(H5Tget_member_type(compound, index));
  }
  return Handle();
}

}  // namespace

WrittenMembers WrittenMembers::Nothing() {
  WrittenMembers nothing;
  nothing.all_ = false;
  nothing.none_ = true;
  return nothing;
}

WrittenMembers WrittenMembers::Of(hid_t from, hid_t to) {
  WrittenMembers written;
  const H5T_class_t kind = H5Tget_class(to);
  if (kind != H5Tget_class(from) || H5Tequal(from, to) > 0) return written;
  if (kind == H5T_COMPOUND) {
    for (int i = 0; i < H5Tget_nmembers(to); ++i) {
      const auto index = static_cast<unsigned>(i);
      const Handle source = MemberOf(from, MemberName(to, index));
      const Handle target(H5Tget_member_type(to, index));
      written.members_.push_back(source.valid() ? Of(source.get(), target.get()) : Nothing());
      written.all_ = written.all_ && written.members_.back().all_;
    }
  } else if (kind == H5T_ARRAY || kind == H5T_VLEN) {
    const Handle source(H5Tget_super(from));
    const Handle target(H5Tget_super(to));
    written.is_sequence_ = kind == H5T_VLEN;
    if (!written.is_sequence_) written.rank_ = static_cast<std::size_t>(H5Tget_array_ndims(to));
    const bool keeps = !written.is_sequence_ || shadow::HoldsVlenOrReference(target.get());
    written.members_.push_back(Of(source.get(), target.get()));
    written.all_ = !keeps || written.members_[0].all_;
  }
  return written;
}

Status WrittenMembers::KeepOthers(const Json& stored, Json* written) const {
  if (all_) return OkStatus();
  if (none_) {
    *written = stored;
    return OkStatus();
  }
  if (rank_ > 0) return members_[0].KeepInLists(stored, rank_, written);
  if (is_sequence_) {
    for (std::size_t i = 0; i < std::min(stored.size(), written->size()); ++i) {
      H5ZARR_RETURN_IF_ERROR(members_[0].KeepOthers(stored[i], &(*written)[i]));
    }
    return OkStatus();
  }
  if (!stored.is_array() || stored.size() != members_.size()) {
    return CorruptError("stored element " + zarr::BriefJson(stored) + ": expected a list of " +
                        std::to_string(members_.size()) + " members");
  }
  for (std::size_t i = 0; i < members_.size(); ++i) {
    H5ZARR_RETURN_IF_ERROR(members_[i].KeepOthers(stored[i], &(*written)[i]));
  }
  return OkStatus();
}

// …of the elements of an array, which are nested lists.
Status WrittenMembers::KeepInLists(const Json& stored, std::size_t depth, Json* written) const {
  if (depth == 0) return KeepOthers(stored, written);
  if (!stored.is_array() || stored.size() != written->size()) {
    return CorruptError("stored element " + zarr::BriefJson(stored) + ": expected a list of " +
                        std::to_string(written->size()));
  }
  for (std::size_t i = 0; i < stored.size(); ++i) {
    H5ZARR_RETURN_IF_ERROR(KeepInLists(stored[i], depth - 1, &(*written)[i]));
  }
  return OkStatus();
}

}  // namespace h5zarr::transfer
