// link_path: where the path of an operation leads. A path that goes on behind an external or
// user-defined link, or through a mounted file, is another file's business: the operation is then done
// on the object the link leads to, as if the program had opened that first.
#ifndef H5ZARR_H5_LINK_PATH_H_
#define H5ZARR_H5_LINK_PATH_H_

#include <hdf5.h>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/status.h"
#include "host/guard.h"
#include "host/object.h"
#include "shadow/store_file.h"

namespace h5zarr {

// Around every callback that takes a path. What a traversal opened (files, objects) stays open until
// the outermost scope ends: HDF5 still works on it.
class TraversalScope {
 public:
  TraversalScope();
  TraversalScope(const TraversalScope&) = delete;
  ~TraversalScope();
  // Ends the outermost scope: closes what traversals opened, which saves what was changed there.
  Status Close();

  // Paths of native files are followed by HDF5 alone, until one leads into a store: that traversal fails,
  // MustRepeat is true, and the callback's body runs again with paths of native files followed by us.
  bool MustRepeat();
  static bool FollowsNativePaths();
  // Said by a traversal: a link of a native file led into a store. False where that is no surprise.
  static bool AskForRepetition();
  static bool AskedForRepetition();

  // Said by a traversal: what a link leads to is in a store and cannot be opened. HDF5 takes it for missing where it
  // asks for a source of a virtual dataset.
  static void NoteBroken(Status why);
  // What was said first since this scope, or the innermost one, began.
  const Status& broken() const { return broken_; }
  static Status Broken();

 private:
  TraversalScope* outer_;
  Status broken_;
  bool asked_ = false;
  bool follows_native_paths_ = false;
};
// Around one link being followed: HDF5's own budget of links starts anew with each object a traversal
// opens.
class TraversalDepth {
 public:
  TraversalDepth() { ++levels_; }
  TraversalDepth(const TraversalDepth&) = delete;
  ~TraversalDepth() { --levels_; }
  static std::size_t levels() { return levels_; }

 private:
  static inline std::size_t levels_ = 0;
};

// Of a path that leads nowhere: why, when it is that something on its way cannot be opened.
Status WhyBlocked(shadow::StoreFile& store, const shadow::NodePtr& base, const char* path);

// Keeps `id` open until the outermost scope ends. False when there is none.
bool KeepUntilScopeEnds(hid_t id);
void ClearErrors();

// A Place's object behind a link; closed with it.
struct CloseLinked {
  void operator()(Object* object) const;
};

// What an operation is to be done on.
struct Place {
  Object* object = nullptr;
  H5VL_loc_params_t loc;
  const char* name = nullptr;  // for operations that take one besides a location
  shadow::NodePtr node;        // what is there; null: nothing, or not in a store
  shadow::Resolution found;    // with a path in a store: where it led
  bool behind_link = false;    // of another file: an external or user-defined one

  shadow::StoreFile* store() const { return object->store.get(); }
  void* under() const { return object->native.under; }
  // The path at the end of this place: `name`, or that of a location by name.
  const char* path() const;

  // What an operation that opens is to be done on, so that the object has the name it was asked for by:
  // the operation's own place where only mounts were in its way, which HDF5 follows by itself.
  struct Opening {
    void* under = nullptr;
    H5VL_loc_params_t loc;
    const char* name = nullptr;
  };
  Opening opening;

  std::unique_ptr<std::string> rest;            // what `name` and `loc` point to, behind a link
  std::unique_ptr<Object, CloseLinked> linked;  // `object`, behind a link
};

// Whether a path's last component stands for the link (delete, create…) or what it leads to (open…).
enum class LastLink { kItself, kFollowed };

// Resolves `loc` of `object`, and `name` below it where the operation takes one (may be null), loading
// into the shadow what HDF5 will look for. A path that leads nowhere is no error. `object` may be null
// (H5L_SAME_LOC): so is the place's.
Result<Place> Locate(Object* object, const H5VL_loc_params_t* loc, const char* name = nullptr,
                     LastLink last = LastLink::kFollowed);
// The same for operations that make something at the path: kPermissionDenied where its store is
// read-only, kInvalidArgument for names that no Zarr node may have.
Result<Place> LocateNew(Object* object, const H5VL_loc_params_t* loc, const char* name = nullptr);

// For a place that is the n-th link of a group: which that is can only be told when all are there.
Status FillIndexed(const Place& place);

// Loads the tree below a place that is about to be visited.
Status FillForVisit(const Place& place);

// A callback's body with a scope around it, run again where a native path has led into a store.
template <typename Body>
auto InTraversalScope(Body&& body) -> std::invoke_result_t<Body> {
  TraversalScope scope;
  auto result = body();
  if (scope.MustRepeat()) {
    ClearErrors();
    result = body();
  }
  if constexpr (!std::is_same_v<decltype(result), Result<void*>>) {
    // (An object that was opened keeps its file open, whose own close will say it.)
    const Status closed = scope.Close();
    if (result.ok() && !closed.ok()) return closed;
  }
  return result;
}

// host::Guard, GuardPointer and GuardValue for such callbacks.
template <typename Body>
herr_t PathGuard(std::string_view operation, Body&& body) {
  return host::Guard(operation, [&] { return InTraversalScope(body); });
}
template <typename Body>
void* PathGuardPointer(std::string_view operation, Body&& body) {
  return host::GuardPointer(operation, [&] { return InTraversalScope(body); });
}
template <typename Body>
herr_t PathGuardValue(std::string_view operation, Body&& body) {
  return host::GuardValue(operation, [&] { return InTraversalScope(body); });
}

}  // namespace h5zarr

#endif  // H5ZARR_H5_LINK_PATH_H_
