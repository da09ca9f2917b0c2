#include "shadow/object_times.h"

#include <ctime>

#include "host/error_stack.h"
#include "shadow/hdf5_member.h"

namespace h5zarr::shadow {
namespace {

constexpr const char* kMember = "times";
constexpr const char* kAccess = "access";
constexpr const char* kModification = "modification";
constexpr const char* kChange = "change";
constexpr const char* kBirth = "birth";

time_t TimeOf(const Json& times, const char* name) {
  if (!times.is_object()) return 0;
  const auto time = times.find(name);
  return time != times.end() && time->is_number_integer() ? time->get<int64_t>() : 0;
}

}  // namespace

void NoteTimes(H5F_libver_t low, bool is_dataset, hid_t creation_list, Json* attributes) {
  hbool_t tracks = true;
  if (H5Pget_obj_track_times(creation_list, &tracks) < 0) {
    H5Eclear2(H5E_DEFAULT);
    return;
  }
  const auto now = static_cast<int64_t>(std::time(nullptr));
  if (low >= H5F_LIBVER_V18) {
    SetHdf5Member(attributes, kMember,
                  tracks ? Json{{kAccess, now}, {kModification, now}, {kChange, now}, {kBirth, now}} : Json(false));
  } else if (is_dataset && tracks) {
    SetHdf5Member(attributes, kMember, Json{{kChange, now}});
  }
}

void CopyTimes(const H5O_info2_t& original, Json* attributes) {
  Json times = Json::object();
  const auto note = [&times](const char* name, time_t time) {
    if (time != 0) times[name] = static_cast<int64_t>(time);
  };
  note(kAccess, original.atime);
  note(kModification, original.mtime);
  note(kChange, original.ctime);
  note(kBirth, original.btime);
  SetHdf5Member(attributes, kMember, times.empty() ? Json(nullptr) : std::move(times));
}

void TouchTimes(Json* attributes) {
  Json times = Hdf5Member(*attributes, kMember);
  if (!times.is_object()) return;
  const auto now = static_cast<int64_t>(std::time(nullptr));
  for (const char* name : {kAccess, kChange}) {
    if (times.contains(name)) times[name] = now;
  }
  SetHdf5Member(attributes, kMember, std::move(times));
}

void AnswerTimes(const Json& attributes, H5O_info2_t* info) {
  const Json times = Hdf5Member(attributes, kMember);
  info->atime = TimeOf(times, kAccess);
  info->mtime = TimeOf(times, kModification);
  info->ctime = TimeOf(times, kChange);
  info->btime = TimeOf(times, kBirth);
}

Status RestoreTracking(const Json& attributes, hid_t list) {
  const Json times = Hdf5Member(attributes, kMember);
  if (times.is_null()) return OkStatus();
  const bool tracks = !times.is_boolean() || times.get<bool>();
  return H5Pset_obj_track_times(list, tracks) < 0 ? host::AlreadyReported() : OkStatus();
}

}  // namespace h5zarr::shadow
