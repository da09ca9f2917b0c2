#include "mirror/object_tree.h"

#include <map>
#include <utility>
#include <vector>

#include "mirror/hdf5_read.h"

namespace h5zarr::mirror {
namespace {

using Kind = TreeEntry::Kind;

std::string ValueOfLink(hid_t group, const std::string& name, const H5L_info2_t& info) {
  std::string value(info.u.val_size, '\0');
  if (H5Lget_val(group, name.c_str(), value.data(), value.size(), H5P_DEFAULT) < 0) return "?";
  if (info.type == H5L_TYPE_EXTERNAL) {
    const char* file = nullptr;
    const char* path = nullptr;
    if (H5Lunpack_elink_val(value.data(), value.size(), nullptr, &file, &path) < 0) return "?";
    return std::string(file) + ":" + path;
  }
  return value.c_str();
}

H5_index_t OrderOf(hid_t group) {
  const Handle gcpl(H5Gget_create_plist(group));
  unsigned flags = 0;
  const bool tracked =
      gcpl.valid() && H5Pget_link_creation_order(gcpl.get(), &flags) >= 0 && (flags & H5P_CRT_ORDER_TRACKED) != 0;
  return tracked ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
}

class Walk {
 public:
  explicit Walk(const std::function<Status(const TreeEntry&)>& visit) : visit_(visit) {}

  Status Object(TreeEntry entry) {
    if (entry.object.valid()) {
      H5ZARR_ASSIGN_OR_RETURN(entry.identity, IdentityOf(entry.object.get()));
      const auto [known, is_new] = seen_.emplace(entry.identity, entry.path);
      if (!is_new) {
        entry.kind = Kind::kSameObject;
        entry.target = known->second;
      }
    }
    H5ZARR_RETURN_IF_ERROR(visit_(entry));
    if (entry.kind != Kind::kGroup) return OkStatus();
    const auto names = MemberNames(entry.object.get(), OrderOf(entry.object.get()));
    if (!names.ok()) {
      TreeEntry problem;
      problem.kind = Kind::kUnreadable;
      problem.path = entry.path;
      problem.problem = names.status();
      return visit_(problem);
    }
    for (const std::string& name : *names) {
      TreeEntry member = LookAt(entry.object.get(), name);
      member.path = entry.path == "/" ? "/" + name : entry.path + "/" + name;
      H5ZARR_RETURN_IF_ERROR(Object(std::move(member)));
    }
    return OkStatus();
  }

 private:
  const std::function<Status(const TreeEntry&)>& visit_;
  std::map<std::string, std::string> seen_;  // paths of objects
};

}  // namespace

Result<std::string> IdentityOf(hid_t object) {
  H5O_info2_t info;
  if (H5Oget_info3(object, &info, H5O_INFO_BASIC) < 0) return Hdf5Error("an object");
  return std::string(reinterpret_cast<const char*>(&info.token), sizeof info.token) + std::to_string(info.fileno);
}

TreeEntry LookAt(hid_t group, const std::string& name) {
  TreeEntry entry;
  entry.path = entry.name = name;
  entry.group = group;
  const auto unreadable = [&entry](Status why) {
    entry.kind = Kind::kUnreadable;
    entry.problem = std::move(why);
    return std::move(entry);
  };
  H5L_info2_t info;
  if (H5Lget_info2(group, name.c_str(), &info, H5P_DEFAULT) < 0) return unreadable(Hdf5Error("link"));
  if (info.type != H5L_TYPE_HARD) {
    entry.kind = info.type == H5L_TYPE_SOFT       ? Kind::kSoftLink
                 : info.type == H5L_TYPE_EXTERNAL ? Kind::kExternalLink
                                                  : Kind::kUserLink;
    entry.target =
        entry.kind == Kind::kUserLink ? "class " + std::to_string(info.type) : ValueOfLink(group, name, info);
    return entry;
  }
  entry.object = Handle(H5Oopen(group, name.c_str(), H5P_DEFAULT));
  if (!entry.object.valid()) return unreadable(Hdf5Error("'" + name + "'"));
  switch (H5Iget_type(entry.object.get())) {
    case H5I_GROUP: entry.kind = Kind::kGroup; break;
    case H5I_DATASET: entry.kind = Kind::kDataset; break;
    case H5I_DATATYPE: entry.kind = Kind::kDatatype; break;
    default: return unreadable(UnsupportedError("'" + name + "' is of no kind that is known"));
  }
  return entry;
}

Status VisitTree(hid_t root, const std::function<Status(const TreeEntry&)>& visit) {
  TreeEntry entry;
  entry.path = "/";
  entry.object = Handle(H5Oopen(root, ".", H5P_DEFAULT));
  if (!entry.object.valid()) return Hdf5Error("the root group");
  Walk walk(visit);
  return walk.Object(std::move(entry));
}

}  // namespace h5zarr::mirror
