// `h5zarr info`: what is in a file or store.
#include <hdf5.h>

#include <algorithm>
#include <cstdio>

#include "mirror/hdf5_read.h"
#include "mirror/object_tree.h"
#include "store/url.h"
#include "tools/command.h"
#include "tools/describe.h"
#include "tools/hdf5_files.h"
#include "zarr/json.h"

namespace h5zarr::tools {
namespace {

using mirror::DocumentOf;
using mirror::Hdf5Error;
using mirror::TreeEntry;
using mirror::VisitTree;
using Kind = TreeEntry::Kind;
using zarr::Json;

std::string JoinedWith(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

class InfoPrinter {
 public:
  explicit InfoPrinter(bool as_json) : as_json_(as_json) {}

  Status Print(const OpenedFile& opened) {
    DescribeWhole(opened);
    H5ZARR_RETURN_IF_ERROR(VisitTree(opened.root.get(), [this](const TreeEntry& entry) -> Status {
      H5ZARR_ASSIGN_OR_RETURN(Json item, Describe(entry));
      if (as_json_) {
        whole_["objects"].push_back(std::move(item));
      } else {
        PrintLine(item);
      }
      return OkStatus();
    }));
    if (as_json_) std::printf("%s\n", zarr::DumpJson(whole_).c_str());
    return OkStatus();
  }

  std::size_t unreadable() const { return unreadable_; }

 private:
  void DescribeWhole(const OpenedFile& opened) {
    const int version = ZarrFormatOf(opened.file.get());
    whole_["name"] = ShownName(opened.name);
    whole_["format"] = version == 0 ? "HDF5" : "Zarr v" + std::to_string(version);
    whole_["objects"] = Json::array();
    if (as_json_) return;
    std::printf("%s: %s\n", ShownName(opened.name).c_str(), whole_["format"].get<std::string>().c_str());
  }

  Result<Json> Describe(const TreeEntry& entry) {
    Json item;
    item["path"] = entry.path;
    switch (entry.kind) {
      case Kind::kGroup: item["kind"] = "group"; break;
      case Kind::kDataset: item["kind"] = "dataset"; break;
      case Kind::kDatatype: item["kind"] = "datatype"; break;
      case Kind::kSameObject: item["kind"] = "hard link"; break;
      case Kind::kSoftLink: item["kind"] = "soft link"; break;
      case Kind::kExternalLink: item["kind"] = "external link"; break;
      case Kind::kUserLink: item["kind"] = "user-defined link"; break;
      case Kind::kUnreadable:
        item["kind"] = "unreadable";
        item["problem"] = entry.problem.message();
        ++unreadable_;
        return item;
    }
    if (!entry.target.empty()) item["target"] = entry.target;
    if (!entry.object.valid() || entry.kind == Kind::kSameObject) return item;
    const auto names = mirror::AttributeNames(entry.object.get());
    if (names.ok()) item["attributes"] = names->size();
    if (entry.kind == Kind::kDatatype) item["type"] = TypeText(entry.object.get());
    if (entry.kind == Kind::kDataset) H5ZARR_RETURN_IF_ERROR(DescribeDataset(entry, &item));
    return item;
  }

  Status DescribeDataset(const TreeEntry& entry, Json* item) {
    const hid_t dataset = entry.object.get();
    const Handle type(H5Dget_type(dataset)), space(H5Dget_space(dataset));
    if (!type.valid() || !space.valid()) return Hdf5Error("'" + entry.path + "'");
    H5ZARR_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(space.get()));
    H5ZARR_ASSIGN_OR_RETURN(Storage storage, StorageOf(dataset));
    const zarr::ArrayMetadata* const document = DocumentOf(dataset);
    if (document != nullptr) AddArrayDocument(*document, &storage);
    (*item)["type"] = TypeText(type.get());
    (*item)["shape"] = shape.dims;
    if (shape.kind != H5S_SIMPLE) (*item)["space"] = shape.kind == H5S_NULL ? "null" : "scalar";
    if (shape.max_dims != shape.dims) {
      Json& maximum = (*item)["max_shape"] = Json::array();
      for (const uint64_t dim : shape.max_dims) {
        maximum.push_back(dim == H5S_UNLIMITED ? Json() : Json(dim));
      }
    }
    (*item)["layout"] = storage.layout;
    if (!storage.chunks.empty()) (*item)["chunks"] = storage.chunks;
    if (!storage.shards.empty()) (*item)["shards"] = storage.shards;
    (*item)["codecs"] = storage.codecs;
    const hssize_t elems = H5Sget_simple_extent_npoints(space.get());
    (*item)["bytes"] = static_cast<uint64_t>(std::max<hssize_t>(elems, 0)) * H5Tget_size(type.get());
    (*item)["stored_bytes"] = storage.stored_bytes;
    return OkStatus();
  }

  static std::string DatasetText(const Json& item) {
    std::string text = item["type"].get<std::string>() + " ";
    if (const auto space = zarr::StringMember(item, "space")) {
      text += *space == "null" ? "empty" : "scalar";
    } else {
      text += DimsText(item["shape"].get<std::vector<uint64_t>>());
    }
    if (item.contains("chunks")) {
      text += ", chunks " + DimsText(item["chunks"].get<std::vector<uint64_t>>());
    } else {
      text += ", " + item["layout"].get<std::string>();
    }
    if (item.contains("shards")) {
      text += " in shards " + DimsText(item["shards"].get<std::vector<uint64_t>>());
    }
    const auto codecs = item["codecs"].get<std::vector<std::string>>();
    if (!codecs.empty()) text += ", " + JoinedWith(codecs, " + ");
    return text + ", " + BytesText(item["stored_bytes"].get<uint64_t>()) + " of " +
           BytesText(item["bytes"].get<uint64_t>());
  }

  static void PrintLine(const Json& item) {
    const std::string kind = item["kind"].get<std::string>();
    std::string text = kind;
    if (kind == "dataset") text = DatasetText(item);
    if (kind == "datatype") text = "datatype " + item["type"].get<std::string>();
    if (kind == "unreadable") text = "UNREADABLE: " + item["problem"].get<std::string>();
    if (item.contains("target")) text += " -> " + item["target"].get<std::string>();
    const auto attributes = zarr::UnsignedMember(item, "attributes").value_or(0);
    if (attributes > 0) {
      text += ", " + std::to_string(attributes) + (attributes == 1 ? " attribute" : " attributes");
    }
    std::printf("%-24s %s\n", item["path"].get<std::string>().c_str(), text.c_str());
  }

  const bool as_json_;
  Json whole_;
  std::size_t unreadable_ = 0;
};

}  // namespace

const char kInfoHelp[] =
    "usage: h5zarr info PATH [--json]\n"
    "\n"
    "Shows what is in an HDF5 file, a Zarr store, a version of an Icechunk repository (FOLDER@VERSION)\n"
    "or of a versioned-hdf5 file (FILE.h5@VERSION): groups, links, and of each dataset its type, shape,\n"
    "chunks, shards, codecs, and how many bytes are stored of how many it has.\n"
    "\n"
    "  --json    the same as JSON\n"
    "\n"
    "exit codes: 0 done; 4 it cannot be read, or something in it; 64 wrong usage\n";

int RunInfo(const Words& words) {
  if (words.operands.size() != 1) return Misused("one name is needed", kInfoHelp);
  const auto opened = OpenAny(words.operands[0]);
  if (!opened.ok()) return Fail(opened.status());
  InfoPrinter printer(words.has("json"));
  const Status printed = printer.Print(*opened);
  if (!printed.ok()) return Fail(printed);
  return printer.unreadable() == 0 ? kDone : kFailed;
}

}  // namespace h5zarr::tools
