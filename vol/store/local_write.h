// The writing half of the local store: whole objects and moves, each atomic. A new object's file has no name before all
// of it is written, where the file system has such files; one that replaces another, or is durable, has a temporary
// name beside it.
//
// A file that is replaced keeps its permissions, and its owner where this process may give files away; where a
// symbolic link is in its place, what that leads to is replaced.
//
// Within store/ only.
#ifndef H5ZARR_STORE_LOCAL_WRITE_H_
#define H5ZARR_STORE_LOCAL_WRITE_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "base/status.h"
#include "store/local_blocks.h"
#include "store/local_store.h"
#include "store/store.h"

namespace h5zarr {

// Makes the folders that lead from `root` to the object at `key`, and `root` itself where it is
// missing, but not what `root` lies in. With `durable` they survive a crash of the machine.
Status MakeParents(const std::string& root, std::string_view key, bool durable);

// Store::BeginWrite of the file `root`/`key`. `blocks` must outlive the writer.
Result<std::unique_ptr<ObjectWriter>> BeginLocalWrite(const std::string& root, std::string_view key,
                                                      const LocalStoreOptions& options, BlockPool* blocks);

// When the name of a durable file is durable itself: at once, or when its folder and those above it are synchronised.
enum class Names { kDurable, kLater };

// Store::Write and Store::WriteNamedLater of the file `root`/`key`, in the same way.
Status WriteLocalObject(const std::string& root, std::string_view key, ByteSpan bytes, const LocalStoreOptions& options,
                        Names names, BlockPool* blocks);

// Store::WriteNew and Store::Replace of the file `root`/`key`.
Result<bool> WriteNewLocalObject(const std::string& root, std::string_view key, ByteSpan bytes, bool durable,
                                 Generation* written);
Result<bool> ReplaceLocalObject(const std::string& root, std::string_view key, ByteSpan bytes,
                                const Generation& expected, bool durable, Generation* written);

// Renames the folder `root`/`from` to `root`/`to`. kNotFound, kAlreadyExists; an empty folder at
// the target is no object and gives way.
Status RenameLocalPrefix(const std::string& root, std::string_view from, std::string_view to, bool durable);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_LOCAL_WRITE_H_
