// What is in one version of a versioned-hdf5 file, and the nodes of a snapshot that it becomes. Within
// mirror/ only.
#ifndef H5ZARR_MIRROR_VERSION_TREE_H_
#define H5ZARR_MIRROR_VERSION_TREE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "icechunk/snapshot.h"
#include "mirror/source_dataset.h"
#include "mirror/source_file.h"
#include "zarr/metadata.h"

namespace h5zarr::mirror {

struct VersionTree {
  std::map<std::string, std::string> groups;  // path ("/", "/a") → zarr.json
  std::vector<SourceDataset> datasets;        // by path
};

// Everything in version `name`. `file` must outlive it. kUnsupported names what has no form in Zarr.
Result<VersionTree> OpenVersion(SourceFile* file, const std::string& name, Encoding encoding);

// The dataset at `path` in version `name`; nothing when it is not there.
Result<std::optional<SourceDataset>> OpenDataset(SourceFile* file, const std::string& name, const std::string& path,
                                                 Encoding encoding);

// A node without manifests. `metadata`: of an array, or null for a group. Its identifier follows from
// path and kind.
Result<icechunk::Node> MakeNode(const std::string& path, const std::string& document,
                                const zarr::ArrayMetadata* metadata);

// The node at `path`, or null.
const icechunk::Node* FindNode(const icechunk::Snapshot& snapshot, const std::string& path);
bool SameManifests(const icechunk::Node& a, const icechunk::Node& b);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_VERSION_TREE_H_
