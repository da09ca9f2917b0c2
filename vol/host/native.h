// native: short forms of calls to HDF5's native connector, on which every object of ours stands.
//
// These take and return pointers of native objects, never identifiers (but for property lists).
#ifndef H5ZARR_HOST_NATIVE_H_
#define H5ZARR_HOST_NATIVE_H_

#include <hdf5.h>
// The VOL's developer interface.
#include <H5VLconnector.h>
#include <H5VLnative.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/status.h"
#include "host/error_stack.h"

namespace h5zarr::host {

// The native connector's identifier, kept until the library closes (ForgetNativeConnector).
hid_t NativeConnector();
void ForgetNativeConnector();

inline hid_t DefaultDxpl() { return H5P_LST_DATASET_XFER_ID_g; }

inline H5VL_loc_params_t LocSelf(H5I_type_t type) {
  H5VL_loc_params_t loc;
  std::memset(&loc, 0, sizeof loc);
  loc.obj_type = type;
  loc.type = H5VL_OBJECT_BY_SELF;
  return loc;
}

inline H5VL_loc_params_t LocByName(H5I_type_t type, const char* name) {
  H5VL_loc_params_t loc = LocSelf(type);
  loc.type = H5VL_OBJECT_BY_NAME;
  loc.loc_data.loc_by_name.name = name;
  loc.loc_data.loc_by_name.lapl_id = H5P_LST_LINK_ACCESS_ID_g;
  return loc;
}

inline H5VL_loc_params_t LocByToken(H5I_type_t type, H5O_token_t* token) {
  H5VL_loc_params_t loc = LocSelf(type);
  loc.type = H5VL_OBJECT_BY_TOKEN;
  loc.loc_data.loc_by_token.token = token;
  return loc;
}

// A native object and its kind: enough to make calls on it.
struct NativeObject {
  void* under = nullptr;
  H5I_type_t type = H5I_BADID;
};

// Closes a native object of kind group, dataset, datatype, file or attribute when it goes out of scope,
// keeping the error stack.
class NativeHandle {
 public:
  NativeHandle() = default;
  NativeHandle(void* under, H5I_type_t type) : object_{under, type} {}
  NativeHandle(NativeHandle&& other) noexcept : object_(other.object_) { other.object_.under = nullptr; }
  NativeHandle& operator=(NativeHandle&& other) noexcept;
  ~NativeHandle() { Close(); }
  void* get() const { return object_.under; }
  H5I_type_t type() const { return object_.type; }
  bool valid() const { return object_.under != nullptr; }
  NativeObject object() const { return object_; }
  void* Release();
  void Close();

 private:
  NativeObject object_;
};

// Which object it is: the file's number within the library, and the object's token there. A token of
// a shadow (eight-byte addresses) is its first eight bytes.
struct Identity {
  unsigned long fileno = 0;
  uint64_t token = 0;
  unsigned ref_count = 0;  // hard links to it
  H5O_type_t type = H5O_TYPE_UNKNOWN;
};

// Of an object (a file stands for its root group; an attribute for its owner).
Result<Identity> Identify(NativeObject object);
// Of the object at `name` below `object`. Fails like AlreadyReported when there is none.
Result<Identity> IdentifyByName(NativeObject object, const char* name);

uint64_t TokenKey(const H5O_token_t& token);
H5O_token_t TokenOfKey(uint64_t key);

// Opens the object with `token` in the file of `in_file`.
Result<NativeHandle> OpenByToken(NativeObject in_file, uint64_t token);

Result<unsigned long> FileNumber(void* file);

// Of the link `name` below `object`; fails like AlreadyReported when there is none.
Result<H5L_info2_t> LinkInfo(NativeObject object, const char* name);

struct LinkName {
  std::string name;
  H5L_type_t type = H5L_TYPE_HARD;
};
// The links of a group, by name or in the order they were made. Names alone cost less.
Result<std::vector<LinkName>> Links(NativeObject group, H5_index_t order);
Result<std::vector<std::string>> LinkNames(NativeObject group, H5_index_t order);

// The names of an object's attributes, in the order they were made where that is tracked.
Result<std::vector<std::string>> AttributeNames(NativeObject object);

// Runs `change`, which removes a message (a link, an attribute) from the header of `object` and may thereby
// lower the link count of that same object. In headers as new as a shadow's, HDF5 keeps a count above one
// as a message, too, and loses its place when that one goes while it is removing the other: it crashes
// at the object's next use. So the count is kept high until the change is made.
template <typename Change>
Status KeepingLinkCount(NativeObject object, Change&& change);

// Adds `delta` to the link count of an object.
Status ChangeLinkCount(NativeObject object, int delta);

template <typename Change>
Status KeepingLinkCount(NativeObject object, Change&& change) {
  H5ZARR_RETURN_IF_ERROR(ChangeLinkCount(object, 2));
  const Status changed = change();
  const Status restored = ChangeLinkCount(object, -2);
  return changed.ok() ? restored : changed;
}

}  // namespace h5zarr::host

#endif  // H5ZARR_HOST_NATIVE_H_
