// `h5zarr diff`: what is not the same in two files or stores.
#include <hdf5.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "mirror/hdf5_read.h"
#include "mirror/object_tree.h"
#include "mirror/pieces.h"
#include "shadow/type_map.h"
#include "tools/command.h"
#include "tools/describe.h"
#include "tools/hdf5_files.h"
#include "tools/progress.h"
#include "tools/same_elements.h"
#include "zarr/json.h"

namespace h5zarr::tools {
namespace {

using mirror::Box;
using mirror::Elements;
using mirror::Hdf5Error;
using mirror::Pieces;
using mirror::TreeEntry;
using mirror::VisitTree;
using Kind = TreeEntry::Kind;

// Everything of one side, by path. Objects are opened again when they are compared.
struct Item {
  Kind kind;
  std::string target;
};
Result<std::map<std::string, Item>> ItemsOf(const OpenedFile& opened) {
  std::map<std::string, Item> items;
  H5ZARR_RETURN_IF_ERROR(VisitTree(opened.root.get(), [&](const TreeEntry& entry) -> Status {
    if (entry.kind == Kind::kUnreadable) return entry.problem.WithContext("'" + entry.path + "'");
    items[entry.path] = {entry.kind, entry.target};
    return OkStatus();
  }));
  return items;
}

const char* KindText(Kind kind) {
  switch (kind) {
    case Kind::kGroup: return "a group";
    case Kind::kDataset: return "a dataset";
    case Kind::kDatatype: return "a datatype";
    case Kind::kSameObject: return "a hard link";
    case Kind::kSoftLink: return "a soft link";
    case Kind::kExternalLink: return "an external link";
    case Kind::kUserLink: return "a user-defined link";
    case Kind::kUnreadable: break;
  }
  return "unreadable";
}

class Comparison {
 public:
  Comparison(const OpenedFile& a, const OpenedFile& b, bool quiet) : a_(a), b_(b), progress_(quiet) {}

  Status Do() {
    H5ZARR_ASSIGN_OR_RETURN(const auto first, ItemsOf(a_));
    H5ZARR_ASSIGN_OR_RETURN(const auto second, ItemsOf(b_));
    for (const auto& [path, item] : first) {
      const auto found = second.find(path);
      if (found == second.end()) {
        Note(path, "only in the first");
        continue;
      }
      const Status compared = Compare(path, item, found->second);
      if (!compared.ok()) return compared.WithContext("'" + path + "'");
    }
    for (const auto& [path, item] : second) {
      if (!first.contains(path)) Note(path, "only in the second");
    }
    return OkStatus();
  }

  std::vector<std::pair<std::string, std::string>> differences;  // path and what

 private:
  void Note(const std::string& path, std::string what) {
    progress_.Clear();
    differences.emplace_back(path, std::move(what));
  }

  Status Compare(const std::string& path, const Item& a, const Item& b) {
    if (a.kind != b.kind) {
      Note(path, std::string(KindText(a.kind)) + " and " + KindText(b.kind));
      return OkStatus();
    }
    if (a.target != b.target) Note(path, "leads to '" + a.target + "' and to '" + b.target + "'");
    if (a.kind != Kind::kGroup && a.kind != Kind::kDataset && a.kind != Kind::kDatatype) return OkStatus();
    const std::string name = path == "/" ? "." : path.substr(1);
    const Handle first(H5Oopen(a_.root.get(), name.c_str(), H5P_DEFAULT));
    const Handle second(H5Oopen(b_.root.get(), name.c_str(), H5P_DEFAULT));
    if (!first.valid() || !second.valid()) return Hdf5Error("it cannot be opened");
    H5ZARR_RETURN_IF_ERROR(CompareAttributes(path, first.get(), second.get()));
    if (a.kind == Kind::kDatatype) CompareTypes(path, first.get(), second.get());
    return a.kind == Kind::kDataset ? CompareDatasets(path, first.get(), second.get()) : OkStatus();
  }

  bool CompareTypes(const std::string& path, hid_t a, hid_t b) {
    const auto first = shadow::TypeToJson(a), second = shadow::TypeToJson(b);
    if (first.ok() && second.ok() ? *first == *second : H5Tequal(a, b) > 0) return true;
    Note(path, "type " + TypeText(a) + " and " + TypeText(b));
    return false;
  }

  Result<bool> CompareSpaces(const std::string& path, hid_t a, hid_t b) {
    H5ZARR_ASSIGN_OR_RETURN(const Shape first, ShapeOf(a));
    H5ZARR_ASSIGN_OR_RETURN(const Shape second, ShapeOf(b));
    if (first.kind == second.kind && first.dims == second.dims) return true;
    Note(path, "shape " + ShapeText(first) + " and " + ShapeText(second));
    return false;
  }

  // Without what versioned-hdf5 adds to the objects of a version: no other file or store has that.
  static Result<std::vector<std::string>> NamesOf(const OpenedFile& side, const std::string& path, hid_t object) {
    H5ZARR_ASSIGN_OR_RETURN(std::vector<std::string> names, mirror::AttributeNames(object));
    if (!side.is_version) return names;
    std::set<std::string> own;
    if (path == "/") own = {"prev_version", "committed", "timestamp"};
    if (H5Iget_type(object) == H5I_DATASET) own = {"raw_data", "chunks"};
    std::erase_if(names, [&own](const std::string& name) { return own.contains(name); });
    return names;
  }

  Status CompareAttributes(const std::string& path, hid_t a, hid_t b) {
    H5ZARR_ASSIGN_OR_RETURN(const auto first, NamesOf(a_, path, a));
    H5ZARR_ASSIGN_OR_RETURN(const auto second, NamesOf(b_, path, b));
    const std::set<std::string> others(second.begin(), second.end());
    for (const std::string& name : first) {
      const std::string where = path + "@" + name;
      if (!others.contains(name)) {
        Note(where, "only in the first");
        continue;
      }
      H5ZARR_ASSIGN_OR_RETURN(const auto value, mirror::ReadAttribute(a, name));
      H5ZARR_ASSIGN_OR_RETURN(const auto other, mirror::ReadAttribute(b, name));
      H5ZARR_ASSIGN_OR_RETURN(const bool same_space, CompareSpaces(where, value.space(), other.space()));
      if (!same_space || !CompareTypes(where, value.type(), other.type())) continue;
      const hssize_t elems = std::max<hssize_t>(H5Sget_simple_extent_npoints(value.space()), 0);
      const Difference difference =
          CompareElements(value.type(), {a, value.data()}, {b, other.data()}, static_cast<uint64_t>(elems));
      if (difference.elems > 0) Note(where, "its value");
    }
    const std::set<std::string> ours(first.begin(), first.end());
    for (const std::string& name : second) {
      if (!ours.contains(name)) Note(path + "@" + name, "only in the second");
    }
    return OkStatus();
  }

  Status CompareDatasets(const std::string& path, hid_t a, hid_t b) {
    const Handle first_type(H5Dget_type(a)), second_type(H5Dget_type(b));
    const Handle first_space(H5Dget_space(a)), second_space(H5Dget_space(b));
    H5ZARR_ASSIGN_OR_RETURN(const bool same_space, CompareSpaces(path, first_space.get(), second_space.get()));
    if (!CompareTypes(path, first_type.get(), second_type.get()) || !same_space) return OkStatus();
    H5ZARR_ASSIGN_OR_RETURN(const Pieces pieces, Pieces::Of(a));
    H5ZARR_ASSIGN_OR_RETURN(const Pieces others, Pieces::Of(b));
    H5ZARR_ASSIGN_OR_RETURN(const auto description, shadow::TypeToJson(first_type.get()));
    H5ZARR_ASSIGN_OR_RETURN(const Handle type, shadow::TypeFromJson(description));
    const bool alike = pieces.SameAs(others);
    bool compared_fill = false;
    Difference all;
    std::string first;
    for (uint64_t i = 0; i < pieces.size(); ++i) {
      // Of pieces that neither has stored the first speaks for all.
      const uint64_t stored = alike ? std::min(pieces.NextStored(i), others.NextStored(i)) : i;
      if (stored > i && std::exchange(compared_fill, true)) i = stored;
      if (i >= pieces.size()) break;
      progress_.Show(i, pieces.size(), path);
      const Box box = pieces.At(i);
      H5ZARR_ASSIGN_OR_RETURN(const Elements x, Elements::Read(a, box, type.get()));
      H5ZARR_ASSIGN_OR_RETURN(const Elements y, Elements::Read(b, box, type.get()));
      const Difference difference = CompareElements(type.get(), {a, x.data()}, {b, y.data()}, x.count());
      if (difference.elems > 0 && all.elems == 0) first = PlaceText(box, difference.first);
      all.elems += difference.elems;
    }
    if (all.elems > 0) {
      const hssize_t elems = H5Sget_simple_extent_npoints(first_space.get());
      Note(path, std::to_string(all.elems) + " of " + std::to_string(elems) + " elements, the first at " + first);
    }
    return OkStatus();
  }

  static std::string PlaceText(const Box& box, uint64_t number) {
    std::vector<uint64_t> at(box.start.size());
    for (std::size_t d = at.size(); d-- > 0; number /= box.count[d]) {
      at[d] = box.start[d] + number % box.count[d];
    }
    return DimsText(at);
  }

  const OpenedFile& a_;
  const OpenedFile& b_;
  Progress progress_;
};

}  // namespace

const char kDiffHelp[] =
    "usage: h5zarr diff A B [--quiet] [--json]\n"
    "\n"
    "Compares two of: HDF5 files, Zarr stores, versions of Icechunk repositories (FOLDER@VERSION) and of\n"
    "versioned-hdf5 files (FILE.h5@VERSION). Which objects, links and attributes there are, their types,\n"
    "shapes and values count; chunks, filters and codecs do not, nor the attributes that versioned-hdf5\n"
    "keeps for itself.\n"
    "\n"
    "  --quiet    say nothing: the exit code tells\n"
    "  --json     say it in JSON\n"
    "\n"
    "exit codes: 0 the same; 1 not the same; 4 one cannot be read; 64 wrong usage\n";

int RunDiff(const Words& words) {
  if (words.operands.size() != 2) return Misused("two names are needed", kDiffHelp);
  const auto a = OpenAny(words.operands[0]);
  if (!a.ok()) return Fail(a.status());
  const auto b = OpenAny(words.operands[1]);
  if (!b.ok()) return Fail(b.status());
  Comparison comparison(*a, *b, words.has("quiet") || words.has("json"));
  const Status done = comparison.Do();
  if (!done.ok()) return Fail(done);
  zarr::Json json = zarr::Json::array();
  for (const auto& [path, what] : comparison.differences) {
    json.push_back({{"path", path}, {"difference", what}});
    if (!words.has("quiet") && !words.has("json")) std::printf("%s: %s\n", path.c_str(), what.c_str());
  }
  if (words.has("json")) std::printf("%s\n", zarr::DumpJson(json, -1).c_str());
  return comparison.differences.empty() ? kDone : kDiffers;
}

}  // namespace h5zarr::tools
