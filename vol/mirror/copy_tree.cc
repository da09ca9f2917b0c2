#include "mirror/copy_tree.h"

#include <hdf5.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "filter/shard_words.h"
#include "mirror/copy_attributes.h"
#include "mirror/hdf5_read.h"
#include "mirror/object_tree.h"
#include "mirror/pieces.h"
#include "mirror/shape.h"
#include "shadow/copied_array.h"
#include "shadow/dataset_map.h"
#include "shadow/filters_map.h"
#include "shadow/object_times.h"
#include "shadow/type_map.h"

namespace h5zarr::mirror {
namespace {

using Kind = TreeEntry::Kind;

constexpr unsigned kDeflateLevel = 4;

bool HasReferences(hid_t type) { return H5Tdetect_class(type, H5T_REFERENCE) > 0; }

// The same type, free of the file it came from.
Result<Handle> FreeType(hid_t type) {
  H5ZARR_ASSIGN_OR_RETURN(const shadow::Json description, shadow::TypeToJson(type));
  return shadow::TypeFromJson(description);
}

// A list for links: missing groups are no business of it, the name's character set is.
Result<Handle> LinkList(const TreeEntry& entry) {
  Handle list(H5Pcreate(H5P_LINK_CREATE));
  H5L_info2_t info;
  if (!list.valid() || H5Lget_info2(entry.group, entry.name.c_str(), &info, H5P_DEFAULT) < 0 ||
      H5Pset_char_encoding(list.get(), info.cset) < 0) {
    return Hdf5Error("'" + entry.path + "'");
  }
  return list;
}

bool HasFiltersOfOthers(hid_t dcpl) {
  for (int i = 0; i < H5Pget_nfilters(dcpl); ++i) {
    unsigned flags = 0;
    std::size_t words = 0;
    const H5Z_filter_t id =
        H5Pget_filter2(dcpl, static_cast<unsigned>(i), &flags, &words, nullptr, 0, nullptr, nullptr);
    if (id >= H5Z_FILTER_RESERVED) return true;
  }
  return false;
}

// Whether HDF5 alone cannot read, or could not compress, what an exact copy would be. (The connector does
// not report a filter that this process lacks: then the array's codecs say that it is compressed.)
bool NeedsFiltersOfOthers(hid_t dataset, hid_t dcpl) {
  if (H5Pget_layout(dcpl) != H5D_CHUNKED) return false;
  if (HasFiltersOfOthers(dcpl)) return true;
  const zarr::ArrayMetadata* const document = DocumentOf(dataset);
  if (document == nullptr || document->dtype.is_vlen() || H5Pget_nfilters(dcpl) > 0) return false;
  return std::any_of(document->codecs.begin(), document->codecs.end(),
                     [](const zarr::CodecSpec& codec) { return codec.name != "transpose" && codec.name != "crc32c"; });
}

// What a group was made with. (HDF5's own answer also says how many links there are: a group that is made
// with that list has them before it has any, and crashes what looks at it.)
Result<Handle> GroupList(hid_t group) {
  const Handle old(H5Gget_create_plist(group));
  Handle list(H5Pcreate(H5P_GROUP_CREATE));
  unsigned order = 0, attribute_order = 0, entries = 0, name_bytes = 0, most = 0, least = 0;
  std::size_t heap_bytes = 0;
  hbool_t times = false;
  const hid_t from = old.get(), to = list.get();
  if (from < 0 || to < 0 || H5Pget_link_creation_order(from, &order) < 0 || H5Pset_link_creation_order(to, order) < 0 ||
      H5Pget_attr_creation_order(from, &attribute_order) < 0 || H5Pset_attr_creation_order(to, attribute_order) < 0 ||
      H5Pget_obj_track_times(from, &times) < 0 || H5Pset_obj_track_times(to, times) < 0 ||
      H5Pget_est_link_info(from, &entries, &name_bytes) < 0 || H5Pset_est_link_info(to, entries, name_bytes) < 0 ||
      H5Pget_local_heap_size_hint(from, &heap_bytes) < 0 || H5Pset_local_heap_size_hint(to, heap_bytes) < 0 ||
      H5Pget_link_phase_change(from, &most, &least) < 0 || H5Pset_link_phase_change(to, most, least) < 0 ||
      H5Pget_attr_phase_change(from, &most, &least) < 0 || H5Pset_attr_phase_change(to, most, least) < 0) {
    return Hdf5Error("its creation properties");
  }
  return list;
}

// The chunks of a dataset that are stored.
struct ChunkLister {
  int rank = 0;
  std::vector<hsize_t> offsets;  // `rank` numbers each
  std::vector<hsize_t> bytes;
  bool are_alike = true;  // each went through all filters

  static int Add(const hsize_t* offset, unsigned skipped_filters, haddr_t, hsize_t chunk_bytes, void* opaque) {
    auto* const self = static_cast<ChunkLister*>(opaque);
    self->are_alike = skipped_filters == 0;
    if (!self->are_alike) return H5_ITER_STOP;
    self->offsets.insert(self->offsets.end(), offset, offset + self->rank);
    self->bytes.push_back(chunk_bytes);
    return H5_ITER_CONT;
  }
};

// As H5Ocopy does, a copy in a store keeps its original's times.
Status CopyTimesOf(hid_t dataset, hid_t copy) {
  H5O_info2_t info;
  uint64_t token = 0;
  const auto store = StoreOf(copy, &token);
  const shadow::NodePtr node = store != nullptr ? store->FindNode(token) : nullptr;
  if (node == nullptr) return InternalError("a dataset that is in no store");
  if (H5Oget_info3(dataset, &info, H5O_INFO_BASIC | H5O_INFO_TIME) < 0) return Hdf5Error("its times");
  shadow::CopyTimes(info, &node->node.attributes());
  return OkStatus();
}

class TreeCopier {
 public:
  TreeCopier(const OpenedFile& from, hid_t to, const CopyOptions& options) : from_(from), to_(to), options_(options) {}

  Result<CopyReport> Do() {
    H5ZARR_RETURN_IF_ERROR(VisitTree(from_.root.get(), [this](const TreeEntry& entry) {
      const Status copied = Copy(entry);
      return copied.ok() ? copied : copied.WithContext("'" + entry.path + "'");
    }));
    // What references lead to is there only now.
    for (const auto& [identity, path] : path_of_) {
      const Status copied = Complete(path);
      if (!copied.ok()) return copied.WithContext("'" + path + "'");
    }
    return report_;
  }

 private:
  Status CheckCancelled() const {
    if (!options_.is_cancelled || !options_.is_cancelled()) return OkStatus();
    return Status(StatusCode::kIo, "interrupted", EINTR);
  }

  void Show(uint64_t done, uint64_t all, const std::string& path) const {
    if (options_.progress) options_.progress(done, all, path);
  }

  Status Copy(const TreeEntry& entry) {
    H5ZARR_RETURN_IF_ERROR(CheckCancelled());
    ++report_.objects;
    if (entry.object.valid() && entry.kind != Kind::kSameObject) {
      path_of_.emplace(entry.identity, entry.path);
      H5O_info2_t info;
      if (H5Oget_info3(entry.object.get(), &info, H5O_INFO_BASIC) < 0) return Hdf5Error("object");
      references_.Note(info, entry.path);
    }
    if (entry.kind == Kind::kUnreadable) return entry.problem;  // also of the root: its list of members
    if (entry.path == "/") return OkStatus();
    H5ZARR_ASSIGN_OR_RETURN(const Handle lcpl, LinkList(entry));
    switch (entry.kind) {
      case Kind::kGroup: return CopyGroup(entry, lcpl.get());
      case Kind::kDataset: return CopyDataset(entry, lcpl.get());
      case Kind::kDatatype: return CopyByHdf5(entry, lcpl.get());
      case Kind::kSameObject:
        return Made(H5Lcreate_hard(to_, entry.target.c_str(), to_, entry.path.c_str(), lcpl.get(), H5P_DEFAULT));
      default: return CopyLink(entry, lcpl.get());
    }
  }

  static Status Made(herr_t result) { return result < 0 ? Hdf5Error("it cannot be made") : OkStatus(); }

  Status CopyGroup(const TreeEntry& entry, hid_t lcpl) {
    H5ZARR_ASSIGN_OR_RETURN(const Handle gcpl, GroupList(entry.object.get()));
    const Handle group(H5Gcreate2(to_, entry.path.c_str(), lcpl, gcpl.get(), H5P_DEFAULT));
    return group.valid() ? OkStatus() : Hdf5Error("the group cannot be made");
  }

  Status CopyLink(const TreeEntry& entry, hid_t lcpl) {
    H5L_info2_t info;
    if (H5Lget_info2(entry.group, entry.name.c_str(), &info, H5P_DEFAULT) < 0) return Hdf5Error("link");
    std::string value(info.u.val_size, '\0');
    if (H5Lget_val(entry.group, entry.name.c_str(), value.data(), value.size(), H5P_DEFAULT) < 0) {
      return Hdf5Error("link");
    }
    if (info.type == H5L_TYPE_SOFT) {
      return Made(H5Lcreate_soft(value.c_str(), to_, entry.path.c_str(), lcpl, H5P_DEFAULT));
    }
    return Made(H5Lcreate_ud(to_, entry.path.c_str(), info.type, value.data(), value.size(), lcpl, H5P_DEFAULT));
  }

  // By H5Ocopy, which copies chunks encoded where both ends have the same; attributes come later.
  Status CopyByHdf5(const TreeEntry& entry, hid_t lcpl) {
    const Handle list(H5Pcreate(H5P_OBJECT_COPY));
    if (!list.valid() || H5Pset_copy_object(list.get(), H5O_COPY_WITHOUT_ATTR_FLAG) < 0) {
      return Hdf5Error("a list");
    }
    H5ZARR_RETURN_IF_ERROR(Made(H5Ocopy(entry.object.get(), ".", to_, entry.path.c_str(), list.get(), lcpl)));
    uint64_t token = 0;
    const auto store = options_.to_store ? StoreOf(entry.object.get(), &token) : nullptr;
    const shadow::NodePtr source = store != nullptr ? store->FindNode(token) : nullptr;
    if (source == nullptr) return OkStatus();
    const Handle copy(H5Oopen(to_, entry.path.c_str(), H5P_DEFAULT));
    const auto copy_store = copy.valid() ? StoreOf(copy.get(), &token) : nullptr;
    const shadow::NodePtr node = copy_store != nullptr ? copy_store->FindNode(token) : nullptr;
    if (node == nullptr) return Hdf5Error("the copy");
    shadow::TakeHiddenAttributes(*source, node.get());
    return OkStatus();
  }

  Status CopyDataset(const TreeEntry& entry, hid_t lcpl) {
    const hid_t dataset = entry.object.get();
    const Handle dcpl(H5Dget_create_plist(dataset)), type(H5Dget_type(dataset));
    if (!dcpl.valid() || !type.valid()) return Hdf5Error("its description");
    // (To let HDF5 look for the datatype in the target, H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG, is slow, and
    // crashes HDF5 1.14.)
    const bool has_own_type = H5Tcommitted(type.get()) == 0;
    H5ZARR_ASSIGN_OR_RETURN(const bool same_bytes, KeepsBytes(dataset, type.get(), dcpl.get()));
    const bool is_virtual = H5Pget_layout(dcpl.get()) == H5D_VIRTUAL;
    if (is_virtual || H5Pget_external_count(dcpl.get()) > 0) report_.is_all_of_source = false;
    const bool other_filters = options_.only_filters_of_hdf5 && NeedsFiltersOfOthers(dataset, dcpl.get());
    if (!is_virtual && !other_filters && has_own_type && same_bytes && !HasReferences(type.get())) {
      Show(0, 1, entry.path);
      const uint64_t bytes_before = report_.bytes;
      H5ZARR_RETURN_IF_ERROR(TakesElements(dataset, dcpl.get()) ? CopyIntoStore(entry, type.get(), dcpl.get(), lcpl)
                                                                : CopyByHdf5(entry, lcpl));
      const Handle space(H5Dget_space(dataset));
      const hssize_t elems = H5Sget_simple_extent_npoints(space.get());
      report_.bytes = bytes_before + static_cast<uint64_t>(std::max<hssize_t>(elems, 0)) * H5Tget_size(type.get());
      return OkStatus();
    }
    H5ZARR_ASSIGN_OR_RETURN(const Handle plain, PlainList(entry, dcpl.get()));
    H5ZARR_ASSIGN_OR_RETURN(const Handle new_type, TypeInTarget(type.get()));
    const Handle space(H5Dget_space(dataset));
    const Handle copy(H5Dcreate2(to_, entry.path.c_str(), new_type.get(), space.get(), lcpl, plain.get(), H5P_DEFAULT));
    if (!copy.valid()) return Hdf5Error("the dataset cannot be made");
    if (HasReferences(type.get())) {
      later_.insert(entry.path);
      return OkStatus();
    }
    return CopyElements(dataset, copy.get(), entry.path);
  }

  // Whether H5Ocopy would read all elements twice, and take those of variable length into memory: those of a native
  // dataset that becomes an array go into the shadow first.
  bool TakesElements(hid_t dataset, hid_t dcpl) const {
    uint64_t token = 0;
    return options_.to_store && StoreOf(dataset, &token) == nullptr && H5Pget_external_count(dcpl) <= 0;
  }

  // As CopyByHdf5 does it, chunk by chunk.
  Status CopyIntoStore(const TreeEntry& entry, hid_t type, hid_t dcpl, hid_t lcpl) {
    const hid_t dataset = entry.object.get();
    const Handle space(H5Dget_space(dataset));
    const Handle copy(H5Dcreate2(to_, entry.path.c_str(), type, space.get(), lcpl, dcpl, H5P_DEFAULT));
    if (!copy.valid()) return Hdf5Error("the dataset cannot be made");
    H5ZARR_RETURN_IF_ERROR(CopyTimesOf(dataset, copy.get()));
    if (H5Dget_storage_size(dataset) == 0) return OkStatus();
    H5ZARR_ASSIGN_OR_RETURN(const bool copied, CopyChunks(dataset, copy.get(), dcpl, entry.path));
    return copied ? OkStatus() : CopyElements(dataset, copy.get(), entry.path);
  }

  // As they are stored, where both ends have the same. False, and all is to be copied, where they are not all alike.
  Result<bool> CopyChunks(hid_t dataset, hid_t copy, hid_t dcpl, const std::string& path) {
    unsigned options = 0;
    if (H5Pget_layout(dcpl) != H5D_CHUNKED || H5Pget_chunk_opts(dcpl, &options) < 0 || options != 0) return false;
    const Handle space(H5Dget_space(dataset));
    ChunkLister chunks;
    chunks.rank = H5Sget_simple_extent_ndims(space.get());
    const Status listed = IterateChunks(dataset, ChunkLister::Add, &chunks);
    if (listed.code() == StatusCode::kUnsupported) return false;
    H5ZARR_RETURN_IF_ERROR(listed);
    if (!chunks.are_alike) return false;
    Buffer buffer;
    for (std::size_t i = 0; i < chunks.bytes.size(); ++i) {
      H5ZARR_RETURN_IF_ERROR(CheckCancelled());
      Show(i, chunks.bytes.size(), path);
      const hsize_t* const offset = &chunks.offsets[i * static_cast<std::size_t>(chunks.rank)];
      if (buffer.size_bytes() < chunks.bytes[i]) {
        H5ZARR_ASSIGN_OR_RETURN(buffer, Buffer::Allocate(chunks.bytes[i]));
      }
      uint32_t skipped_filters = 0;
      if (H5Dread_chunk(dataset, H5P_DEFAULT, offset, &skipped_filters, buffer.data()) < 0) {
        return Hdf5Error("chunk " + std::to_string(i));
      }
      if (skipped_filters != 0) return false;  // all is copied again
      if (H5Dwrite_chunk(copy, H5P_DEFAULT, 0, offset, chunks.bytes[i], buffer.data()) < 0) {
        return Hdf5Error("chunk " + std::to_string(i));
      }
    }
    return true;
  }

  // Whether the target keeps the chunks of a dataset as they are. Where it does not, they are better gone
  // through here: H5Ocopy also reads what was never written.
  Result<bool> KeepsBytes(hid_t dataset, hid_t type, hid_t dcpl) const {
    if (H5Pget_layout(dcpl) != H5D_CHUNKED) return true;
    const zarr::ArrayMetadata* const document = DocumentOf(dataset);
    if (!options_.to_store) {
      return document == nullptr || shadow::StoredChunksAreVerbatim(*document, dcpl);
    }
    // (An array that comes from a store keeps its codecs, or gets those that are asked for, but stays what it is.)
    if (document != nullptr) return true;
    const Handle space(H5Dget_space(dataset));
    H5ZARR_ASSIGN_OR_RETURN(const shadow::DatasetPlan plan,
                            shadow::PlanCreate(type, space.get(), dcpl, options_.config));
    H5ZARR_ASSIGN_OR_RETURN(const auto filters, shadow::FiltersOfDcpl(dcpl));
    return plan.chunk_unit == zarr::ChunkUnit::kObject && shadow::SameBytes(plan.metadata.codecs, filters);
  }

  // The committed datatype that `type` is, in the target, or the same type afresh.
  Result<Handle> TypeInTarget(hid_t type) {
    if (H5Tcommitted(type) > 0) {
      H5ZARR_ASSIGN_OR_RETURN(const std::string identity, IdentityOf(type));
      const auto known = path_of_.find(identity);
      if (known != path_of_.end()) {
        Handle committed(H5Topen2(to_, known->second.c_str(), H5P_DEFAULT));
        if (committed.valid()) return committed;
        H5Eclear2(H5E_DEFAULT);  // it comes later in the walk: then the type is not shared
      }
    }
    return FreeType(type);
  }

  // The creation list of a dataset that cannot be copied as it is.
  Result<Handle> PlainList(const TreeEntry& entry, hid_t dcpl) {
    if (H5Pget_layout(dcpl) == H5D_VIRTUAL) return ListForVirtual(entry, dcpl);
    Handle list(H5Pcopy(dcpl));
    if (!options_.only_filters_of_hdf5 || !NeedsFiltersOfOthers(entry.object.get(), dcpl)) {
      return list;
    }
    std::array<hsize_t, H5S_MAX_RANK> chunk{};
    const int rank = H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk.data());
    const zarr::ArrayMetadata* const document = DocumentOf(entry.object.get());
    if (document != nullptr) {
      // (Of a shard its inner chunks: HDF5 reads no parts of chunks.)
      for (const zarr::CodecSpec& codec : document->codecs) {
        const auto sharding = filter::ShardingFromCodec(codec);
        for (int d = 0; sharding && d < rank; ++d) chunk[d] = sharding->inner_shape[d];
      }
    }
    if (H5Premove_filter(list.get(), H5Z_FILTER_ALL) < 0 || H5Pset_chunk(list.get(), rank, chunk.data()) < 0 ||
        H5Pset_shuffle(list.get()) < 0 || H5Pset_deflate(list.get(), kDeflateLevel) < 0) {
      return Hdf5Error("its filters");
    }
    return list;
  }

  // HDF5 allows no chunk beyond a fixed extent, which raw_data has none of.
  static Status FitChunk(hid_t dataset, hid_t dcpl) {
    const Handle space(H5Dget_space(dataset));
    H5ZARR_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(space.get()));
    std::array<hsize_t, H5S_MAX_RANK> chunk{};
    const int rank = H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk.data());
    if (rank != static_cast<int>(shape.dims.size())) return Hdf5Error("its chunk");
    bool fits = true;
    for (std::size_t i = 0; i < shape.dims.size(); ++i) {
      const hsize_t most = std::max<hsize_t>(shape.max_dims[i], 1);
      fits = fits && chunk[i] <= most;
      chunk[i] = std::min(chunk[i], most);
    }
    if (fits || H5Pset_chunk(dcpl, rank, chunk.data()) >= 0) return OkStatus();
    return Hdf5Error("its chunk");
  }

  // Of what versioned-hdf5 made, that of the chunks it shares; of others fill value and chunks that fit.
  Result<Handle> ListForVirtual(const TreeEntry& entry, hid_t dcpl) {
    const auto raw_name = TextAttribute(entry.object.get(), "raw_data");
    if (from_.is_version && raw_name.ok()) {
      const Handle raw(H5Dopen2(from_.file.get(), raw_name->c_str(), H5P_DEFAULT));
      Handle list(raw.valid() ? H5Dget_create_plist(raw.get()) : H5I_INVALID_HID);
      if (!list.valid()) return Hdf5Error("'" + *raw_name + "'");
      H5ZARR_RETURN_IF_ERROR(FitChunk(entry.object.get(), list.get()));
      return list;
    }
    H5Eclear2(H5E_DEFAULT);
    Handle list(H5Pcopy(dcpl));
    const Handle space(H5Dget_space(entry.object.get()));
    H5ZARR_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(space.get()));
    H5ZARR_ASSIGN_OR_RETURN(const Pieces pieces, Pieces::Of(entry.object.get()));
    if (shape.max_dims == shape.dims || pieces.size() == 0) {
      if (H5Pset_layout(list.get(), shape.max_dims == shape.dims ? H5D_CONTIGUOUS : H5D_CHUNKED) < 0) {
        return Hdf5Error("its layout");
      }
      if (shape.max_dims == shape.dims) return list;
      const std::vector<hsize_t> chunk(shape.dims.size(), 1024);
      if (H5Pset_chunk(list.get(), static_cast<int>(chunk.size()), chunk.data()) < 0) {
        return Hdf5Error("its chunk");
      }
      return list;
    }
    const Box first = pieces.At(0);
    if (H5Pset_layout(list.get(), H5D_CHUNKED) < 0 ||
        H5Pset_chunk(list.get(), static_cast<int>(first.count.size()), first.count.data()) < 0) {
      return Hdf5Error("its chunk");
    }
    return list;
  }

  Status CopyElements(hid_t dataset, hid_t copy, const std::string& path) {
    const Handle file_type(H5Dget_type(dataset));
    H5ZARR_ASSIGN_OR_RETURN(const Handle type, FreeType(file_type.get()));
    // Whole objects of the target, shards perhaps: none is written twice.
    const zarr::ArrayMetadata* const document = DocumentOf(copy);
    H5ZARR_ASSIGN_OR_RETURN(const Pieces pieces,
                            Pieces::Of(dataset, document != nullptr ? document->chunk_shape : std::vector<uint64_t>()));
    for (uint64_t i = pieces.NextStored(0); i < pieces.size(); i = pieces.NextStored(i + 1)) {
      H5ZARR_RETURN_IF_ERROR(CheckCancelled());
      Show(i, pieces.size(), path);
      const Box box = pieces.At(i);
      H5ZARR_ASSIGN_OR_RETURN(Elements elements, Elements::Read(dataset, box, type.get()));
      if (HasReferences(type.get())) {
        H5ZARR_RETURN_IF_ERROR(references_.Translate(dataset, to_, &elements));
      }
      H5ZARR_ASSIGN_OR_RETURN(const Handle space, SpaceOf(copy, box));
      if (H5Dwrite(copy, type.get(), elements.space(), space.get(), H5P_DEFAULT, elements.data()) < 0) {
        return Hdf5Error("its elements");
      }
      report_.bytes += elements.size_bytes();
    }
    return OkStatus();
  }

  // Attributes and comment, and elements that are references.
  Status Complete(const std::string& path) {
    const std::string relative = path == "/" ? "." : path.substr(1);
    const Handle source(H5Oopen(from_.root.get(), relative.c_str(), H5P_DEFAULT));
    const Handle copy(H5Oopen(to_, path.c_str(), H5P_DEFAULT));
    if (!source.valid() || !copy.valid()) return Hdf5Error("it is not there any more");
    if (later_.contains(path)) {
      H5ZARR_RETURN_IF_ERROR(CopyElements(source.get(), copy.get(), path));
    }
    std::set<std::string> without;
    if (from_.is_version && path == "/") without = {"prev_version", "committed", "timestamp"};
    if (from_.is_version && H5Iget_type(source.get()) == H5I_DATASET) without = {"raw_data", "chunks"};
    H5ZARR_RETURN_IF_ERROR(CopyAttributes(source.get(), copy.get(), to_, without, references_));
    return CopyComment(source.get(), copy.get());
  }

  const OpenedFile& from_;
  const hid_t to_;
  const CopyOptions options_;
  CopyReport report_;
  std::map<std::string, std::string> path_of_;  // of objects, by what they are
  std::set<std::string> later_;                 // datasets of references
  CopiedReferences references_;
};

}  // namespace

Result<Handle> CreationList(const OpenedFile& from) {
  Handle list(from.is_version ? H5Pcreate(H5P_FILE_CREATE) : H5Fget_create_plist(from.file.get()));
  const Handle root(H5Gget_create_plist(from.root.get()));
  unsigned order = 0, attribute_order = 0;
  if (!list.valid() || !root.valid() || H5Pget_link_creation_order(root.get(), &order) < 0 ||
      H5Pset_link_creation_order(list.get(), order) < 0 ||
      H5Pget_attr_creation_order(root.get(), &attribute_order) < 0 ||
      H5Pset_attr_creation_order(list.get(), attribute_order) < 0) {
    return Hdf5Error("the file's creation properties");
  }
  return list;
}

Result<CopyReport> CopyTree(const OpenedFile& from, hid_t to, const CopyOptions& options) {
  TreeCopier copier(from, to, options);
  return copier.Do();
}

}  // namespace h5zarr::mirror
