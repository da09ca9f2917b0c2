#include "mirror/version_tree.h"

#include <algorithm>

#include "host/handle.h"
#include "icechunk/content_hash.h"
#include "mirror/hdf5_read.h"
#include "mirror/versions.h"

namespace h5zarr::mirror {
namespace {

// versioned-hdf5's own, on the group of a version.
const std::vector<std::string> kVersionAttributes = {"prev_version", "committed", "timestamp"};

class TreeReader {
 public:
  TreeReader(SourceFile* file, Encoding encoding, VersionTree* tree) : file_(file), encoding_(encoding), tree_(tree) {}

  // `path`: without '/' around it, "" for the version's own group.
  Status ReadGroup(hid_t group, const std::string& path) {
    zarr::GroupMetadata metadata;
    const Status attributes =
        AddAttributes(group, ".", path.empty() ? kVersionAttributes : std::vector<std::string>(), &metadata.attributes);
    if (!attributes.ok()) return attributes.WithContext("group '/" + path + "'");
    H5ZARR_ASSIGN_OR_RETURN(const zarr::MetadataTexts texts, zarr::FormatGroup(metadata));
    tree_->groups["/" + path] = texts.document;
    H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::string> names, MemberNames(group));
    for (const std::string& name : names) {
      H5ZARR_RETURN_IF_ERROR(ReadMember(group, name, path.empty() ? name : path + "/" + name));
    }
    return OkStatus();
  }

 private:
  Status ReadMember(hid_t group, const std::string& name, const std::string& path) {
    H5L_info2_t link;
    H5O_info2_t object;
    if (H5Lget_info2(group, name.c_str(), &link, H5P_DEFAULT) < 0) return Hdf5Error("'" + path + "'");
    if (link.type != H5L_TYPE_HARD) return UnsupportedError("'" + path + "' is no hard link");
    if (H5Oget_info_by_name3(group, name.c_str(), &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
      return Hdf5Error("'" + path + "'");
    }
    if (object.type == H5O_TYPE_GROUP) {
      const Handle child(H5Gopen2(group, name.c_str(), H5P_DEFAULT));
      return child.valid() ? ReadGroup(child.get(), path) : Hdf5Error("'" + path + "'");
    }
    if (object.type != H5O_TYPE_DATASET) {
      return UnsupportedError("'" + path + "' is neither a group nor a dataset");
    }
    H5ZARR_ASSIGN_OR_RETURN(SourceDataset dataset, SourceDataset::Open(file_, group, name, path, encoding_));
    tree_->datasets.push_back(std::move(dataset));
    return OkStatus();
  }

  SourceFile* const file_;
  const Encoding encoding_;
  VersionTree* const tree_;
};

}  // namespace

Result<VersionTree> OpenVersion(SourceFile* file, const std::string& name, Encoding encoding) {
  const std::string path = std::string(kVersionsPath) + "/" + name;
  const Handle group(H5Gopen2(file->id(), path.c_str(), H5P_DEFAULT));
  if (!group.valid()) return Hdf5Error(path);
  VersionTree tree;
  TreeReader reader(file, encoding, &tree);
  H5ZARR_RETURN_IF_ERROR(reader.ReadGroup(group.get(), ""));
  return tree;
}

Result<std::optional<SourceDataset>> OpenDataset(SourceFile* file, const std::string& name, const std::string& path,
                                                 Encoding encoding) {
  const Handle group(H5Gopen2(file->id(), (std::string(kVersionsPath) + "/" + name).c_str(), H5P_DEFAULT));
  if (!group.valid()) return Hdf5Error("version '" + name + "'");
  // Asked of every part: H5Lexists fails where a group on the way is missing.
  for (std::size_t slash = path.find('/');; slash = path.find('/', slash + 1)) {
    const htri_t exists = H5Lexists(group.get(), path.substr(0, slash).c_str(), H5P_DEFAULT);
    if (exists < 0) return Hdf5Error("'" + path + "'");
    if (exists == 0) return std::optional<SourceDataset>();
    if (slash == std::string::npos) break;
  }
  H5O_info2_t object;
  if (H5Oget_info_by_name3(group.get(), path.c_str(), &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
    return Hdf5Error("'" + path + "'");
  }
  if (object.type != H5O_TYPE_DATASET) return std::optional<SourceDataset>();
  H5ZARR_ASSIGN_OR_RETURN(SourceDataset dataset, SourceDataset::Open(file, group.get(), path, path, encoding));
  return std::optional<SourceDataset>(std::move(dataset));
}

Result<icechunk::Node> MakeNode(const std::string& path, const std::string& document,
                                const zarr::ArrayMetadata* metadata) {
  icechunk::Node node;
  H5ZARR_ASSIGN_OR_RETURN(const icechunk::ContentHash hash,
                          icechunk::HashOf(AsBytes((metadata != nullptr ? "array " : "group ") + path)));
  std::copy_n(hash.begin(), node.id.bytes.size(), node.id.bytes.begin());
  node.path = path;
  node.document = document;
  if (metadata == nullptr) return node;
  node.is_array = true;
  for (std::size_t i = 0; i < metadata->rank(); ++i) {
    node.dimensions.push_back({metadata->shape[i], metadata->chunk_shape[i], metadata->dimension_names[i]});
  }
  return node;
}

const icechunk::Node* FindNode(const icechunk::Snapshot& snapshot, const std::string& path) {
  const auto found =
      std::lower_bound(snapshot.nodes.begin(), snapshot.nodes.end(), path,
                       [](const icechunk::Node& node, const std::string& wanted) { return node.path < wanted; });
  return found != snapshot.nodes.end() && found->path == path ? &*found : nullptr;
}

bool SameManifests(const icechunk::Node& a, const icechunk::Node& b) {
  return std::equal(a.manifests.begin(), a.manifests.end(), b.manifests.begin(), b.manifests.end(),
                    [](const icechunk::ManifestRef& x, const icechunk::ManifestRef& y) { return x.id == y.id; });
}

}  // namespace h5zarr::mirror
