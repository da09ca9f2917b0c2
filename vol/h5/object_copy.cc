#include "h5/object_copy.h"

#include <map>
#include <memory>
#include <set>

#include "h5/copied_fill.h"
#include "h5/copy_references.h"
#include "h5/copy_source.h"
#include "h5/element_copy.h"
#include "h5/header_copy.h"
#include "h5/native_reads.h"
#include "shadow/hdf5_attribute.h"
#include "shadow/memory_driver.h"
#include "transfer/chunk_list.h"

namespace h5zarr {
namespace {

using shadow::NodePtr;

bool HasReferences(hid_t type) { return H5Tdetect_class(type, H5T_REFERENCE) > 0; }

Status RewriteAttribute(host::NativeObject object, const std::string& name, const shadow::AttributeValue& value) {
  const H5VL_loc_params_t self = host::LocSelf(object.type);
  const host::NativeHandle attribute(H5VLattr_open(object.under, &self, host::NativeConnector(), name.c_str(),
                                                   H5P_LST_ATTRIBUTE_ACCESS_ID_g, host::DefaultDxpl(), nullptr),
                                     H5I_ATTR);
  if (!attribute.valid()) return host::AlreadyReported();
  return NativeStatus(H5VLattr_write(attribute.get(), host::NativeConnector(), value.type(), value.data(),
                                     host::DefaultDxpl(), nullptr));
}

// HDF5's own copy. Elements that come into a shadow with it are on their way to an array, which gets them from where
// they were: in the shadow they are not kept.
Status CopyByHdf5(void* from, const H5VL_loc_params_t& from_loc, const char* from_name, const Place& to,
                  const H5VL_loc_params_t& to_loc, const char* to_name, hid_t ocpypl, hid_t lcpl, hid_t dxpl,
                  void** request) {
  unsigned shared_indexes = 0;
  if (to.store() != nullptr) {
    H5ZARR_ASSIGN_OR_RETURN(const Handle fcpl, to.store()->ProgramFcpl());
    if (H5Pget_shared_mesg_nindexes(fcpl.get(), &shared_indexes) < 0) return host::AlreadyReported();
  }
  const shadow::ForgetElements forget(to.store() != nullptr && shared_indexes == 0);
  return NativeStatus(H5VLobject_copy(from, &from_loc, from_name, to.under(), &to_loc, to_name, host::NativeConnector(),
                                      ocpypl, lcpl, dxpl, request));
}

class CopyFinisher {
 public:
  // `list`: the copy's, without expansion of references.
  CopyFinisher(const Place& target, CopySource* source, unsigned options, hid_t list)
      : target_(target), store_(target.store()), source_(source), options_(options), list_(list) {}

  // Before anything is known of the copy at `path` below `base`.
  Status MendFill(const host::NativeHandle& from, host::NativeObject base, const std::string& path) {
    return fills_.Mend(from, base, path);
  }

  // Takes the copy `to` of `from`, and all below it, into the target's store.
  Status Finish(const host::NativeHandle& from, const host::NativeHandle& to, const std::string& path) {
    H5ZARR_ASSIGN_OR_RETURN(const host::Identity copy, host::Identify(to.object()));
    H5ZARR_ASSIGN_OR_RETURN(const host::Identity original, host::Identify(from.object()));
    H5ZARR_RETURN_IF_ERROR(CheckReadable(original));
    copies_.emplace(std::pair(original.fileno, original.token), copy.token);
    if (!seen_.insert(copy.token).second) return OkStatus();
    NodePtr node;
    if (store_ != nullptr) {
      node = store_->FindOrMakeNode(copy.token, to.type());
      H5ZARR_RETURN_IF_ERROR(NoteHeader(*store_, node, from, to, has_attributes()));
    }
    const bool leaves = original.fileno != copy.fileno;
    H5ZARR_RETURN_IF_ERROR(FinishAttributes(from, to, node, leaves));
    if (to.type() == H5I_DATASET) {
      return FinishDataset(from, to, node, leaves).WithContext("copying '" + path + "'");
    }
    return to.type() == H5I_GROUP ? FinishGroup(from, to, node, path) : OkStatus();
  }

  // References lead to the copy of what they led to, which is made if it was not; without expansion to
  // nothing, where they left their file.
  Status FinishReferences() {
    for (std::size_t i = 0; i < references_.size(); ++i) {
      const Reference one = std::move(references_[i]);
      H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify(one.from.object()));
      const Translate translate = Translation(one, identity.fileno);
      if (one.attribute.empty()) {
        H5ZARR_RETURN_IF_ERROR(CopyData(one.from, one.to, one.node, translate));
        continue;
      }
      H5ZARR_ASSIGN_OR_RETURN(shadow::NativeAttribute attribute,
                              shadow::ReadNativeAttribute(one.from.object(), one.attribute));
      shadow::AttributeValue& value = attribute.value;
      H5ZARR_RETURN_IF_ERROR(TranslateReferences(value.type(), static_cast<std::byte*>(value.data()),
                                                 H5Sget_simple_extent_npoints(value.space()), H5Tget_size(value.type()),
                                                 translate));
      H5ZARR_RETURN_IF_ERROR(RewriteAttribute(one.to.object(), one.attribute, value));
      // (It may have been stored meanwhile, with the first data of a dataset.)
      if (store_ != nullptr) store_->NoteAttribute(one.node, one.attribute);
    }
    return OkStatus();
  }

  // Copies whose dimensions kept their names have the scales that these mean where they lie.
  Status FinishDimensions() {
    for (const NodePtr& node : by_name_) {
      H5ZARR_RETURN_IF_ERROR(store_->LoadDimensionsOfCopy(node));
    }
    return OkStatus();
  }

  // Removes what copies of referenced objects were made.
  void Undo(const Status& status) {
    for (const std::string& path : made_) {
      Place place;
      place.object = target_.object;
      place.loc = host::LocSelf(target_.object->native.type);
      place.name = path.c_str();
      (void)UndoOnFailure(place, status).ok();
    }
  }

 private:
  // An attribute, or (without a name) a dataset, whose references must be translated once all copies
  // are known.
  struct Reference {
    host::NativeHandle from, to;
    NodePtr node;
    std::string attribute;
  };

  // `one` must outlive it.
  Translate Translation(const Reference& one, unsigned long fileno) {
    if (!expands_references()) {
      return {[](uint64_t) -> Result<uint64_t> { return uint64_t{0}; }, nullptr};
    }
    const auto source = std::make_shared<Handle>();  // opened when it is first needed
    const CopyOfTarget copy_of = [this, &one, fileno](const H5O_info2_t& target) -> Result<Handle> {
      if (target.fileno != fileno) {
        return UnsupportedError("copying what references lead to in another file");
      }
      H5ZARR_ASSIGN_OR_RETURN(const uint64_t copy, CopyOf(one.from.object(), fileno, host::TokenKey(target.token)));
      H5ZARR_ASSIGN_OR_RETURN(host::NativeHandle native, host::OpenByToken(one.to.object(), copy));
      return RegisterNative(std::move(native));
    };
    return {[this, &one, fileno](uint64_t reference) { return CopyOf(one.from.object(), fileno, reference); },
            [&one, source, copy_of](hid_t type, void* reference) -> Status {
              if (!source->valid()) {
                H5ZARR_ASSIGN_OR_RETURN(host::NativeHandle root, OpenAt(one.from.object(), nullptr, "/"));
                H5ZARR_ASSIGN_OR_RETURN(*source, RegisterNative(std::move(root)));
              }
              return Retarget(source->get(), type, reference, copy_of);
            }};
  }

  bool expands_references() const { return (options_ & H5O_COPY_EXPAND_REFERENCE_FLAG) != 0; }

  bool has_attributes() const { return (options_ & H5O_COPY_WITHOUT_ATTR_FLAG) == 0; }

  Status Defer(const host::NativeHandle& from, const host::NativeHandle& to, const NodePtr& node,
               std::string attribute) {
    Reference reference;
    H5ZARR_ASSIGN_OR_RETURN(const host::Identity original, host::Identify(from.object()));
    H5ZARR_ASSIGN_OR_RETURN(const host::Identity copy, host::Identify(to.object()));
    H5ZARR_ASSIGN_OR_RETURN(reference.from, host::OpenByToken(from.object(), original.token));
    H5ZARR_ASSIGN_OR_RETURN(reference.to, host::OpenByToken(to.object(), copy.token));
    reference.node = node;
    reference.attribute = std::move(attribute);
    references_.push_back(std::move(reference));
    return OkStatus();
  }

  Status FinishAttributes(const host::NativeHandle& from, const host::NativeHandle& to, const NodePtr& node,
                          bool leaves) {
    // (Of other copies HDF5 has done what there is to do.)
    if (!expands_references() && (!leaves || store_ == nullptr)) return OkStatus();
    H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::string> names, AttributeNames(to.object(), H5_INDEX_NAME));
    for (const std::string& name : names) {
      H5ZARR_ASSIGN_OR_RETURN(const shadow::NativeAttribute attribute, shadow::ReadNativeAttribute(to.object(), name));
      if (HasReferences(attribute.value.type())) H5ZARR_RETURN_IF_ERROR(Defer(from, to, node, name));
    }
    return OkStatus();
  }

  Status FinishDataset(const host::NativeHandle& from, const host::NativeHandle& to, const NodePtr& node, bool leaves) {
    H5ZARR_ASSIGN_OR_RETURN(const Handle dcpl, transfer::AskDataset(to.get(), H5VL_DATASET_GET_DCPL));
    if (H5Pget_layout(dcpl.get()) == H5D_VIRTUAL) {
      return store_ == nullptr ? OkStatus() : AdoptVirtual(*store_, node, to.object(), dcpl.get());
    }
    if (store_ != nullptr) {
      H5ZARR_ASSIGN_OR_RETURN(const host::Identity original, host::Identify(from.object()));
      const auto store = GetConnector().stores.ByFileNumber(original.fileno);
      const NodePtr source = store != nullptr ? store->FindNode(original.token) : nullptr;
      H5ZARR_ASSIGN_OR_RETURN(const CopiedArray copied,
                              AdoptDataset(*store_, node, to.object(), source, has_attributes()));
      // (Within a file the references that HDF5 copied lead to the scales.)
      if (copied != CopiedArray::kNew && leaves && has_attributes() && !expands_references()) {
        H5ZARR_ASSIGN_OR_RETURN(const bool kept, store_->KeepDimensions(node, *store, source));
        if (kept) by_name_.push_back(node);
      }
      if (source != nullptr && source->bare_dimension) return OkStatus();
      H5ZARR_ASSIGN_OR_RETURN(const bool refers, RefersElsewhere(to, leaves));
      if (copied == CopiedArray::kSameChunks && !refers) {
        const Status done = store_->CopyChunks(node, *store, source);
        // (A store that cannot list its chunks has elements all the same.)
        if (done.code() != StatusCode::kUnsupported || NeedsSameArray(source)) return done;
      }
      H5ZARR_RETURN_IF_ERROR(store_->OpenArray(node, 0).status());
      if (node->dataset.external) return store_->CopyExternal(node, to.object());
    }
    H5ZARR_ASSIGN_OR_RETURN(const bool refers, RefersElsewhere(to, leaves));
    return refers ? Defer(from, to, node, "") : CopyData(from, to, node, {});
  }

  // Whether the elements are references that leave their file. (Within a file HDF5 leaves those of datasets alone, even
  // when it expands others.)
  static Result<bool> RefersElsewhere(const host::NativeHandle& to, bool leaves) {
    if (!leaves) return false;
    H5ZARR_ASSIGN_OR_RETURN(const Handle type, transfer::AskDataset(to.get(), H5VL_DATASET_GET_TYPE));
    return HasReferences(type.get());
  }

  // What cannot be opened is no part of a copy: HDF5 copied what stands for it in the shadow.
  static Status CheckReadable(const host::Identity& original) {
    const auto store = GetConnector().stores.ByFileNumber(original.fileno);
    const NodePtr source = store != nullptr ? store->FindNode(original.token) : nullptr;
    return source != nullptr ? source->broken : OkStatus();
  }

  // The elements, as far as HDF5 has not copied them.
  Status CopyData(const host::NativeHandle& from, const host::NativeHandle& to, const NodePtr& node,
                  const Translate& translate) {
    DataEnd source{from.object(), nullptr, nullptr}, target{to.object(), store_, node};
    // Where it lies is asked of the object: a link may have led into another file.
    H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify(from.object()));
    const std::shared_ptr<shadow::StoreFile> store = GetConnector().stores.ByFileNumber(identity.fileno);
    if (store == nullptr && store_ == nullptr && (!translate || !expands_references())) {
      return OkStatus();
    }
    if (store != nullptr) {
      source.node = store->FindNode(identity.token);
      if (source.node == nullptr) return InternalError("what is copied was not loaded");
      source.store = store.get();
      // Both name the same files.
      if (source.node->dataset.external && store_ == nullptr) return OkStatus();
    }
    if (!translate) {
      H5ZARR_ASSIGN_OR_RETURN(const bool copied, CopyAsStored(source, target));
      if (copied) return OkStatus();
    }
    Object reader;  // borrows the native object
    reader.native = source.native;
    if (source.store == nullptr) source.engine = &reader;
    const Status copied = CopyElements(source, target, translate);
    LetGoOfEngine(&reader);
    return copied;
  }

  // HDF5 copied the link; what of it only the source's store knows.
  Status CopyLinkState(const host::NativeHandle& from, const NodePtr& to, const std::string& name) {
    H5ZARR_ASSIGN_OR_RETURN(const host::Identity original, host::Identify(from.object()));
    const auto source = GetConnector().stores.ByFileNumber(original.fileno);
    const NodePtr group = source != nullptr ? source->FindNode(original.token) : nullptr;
    if (store_ == nullptr || group == nullptr) return OkStatus();
    const auto link = group->group.links.find(name);
    const auto copy = to->group.links.find(name);
    if (link == group->group.links.end() || copy == to->group.links.end()) return OkStatus();
    copy->second.cset = link->second.cset;
    copy->second.value = link->second.value;
    return OkStatus();
  }

  Status FinishGroup(const host::NativeHandle& from, const host::NativeHandle& to, const NodePtr& node,
                     const std::string& path) {
    H5ZARR_ASSIGN_OR_RETURN(const std::vector<host::LinkName> names, host::Links(to.object(), H5_INDEX_NAME));
    for (const auto& [name, type] : names) {
      host::NativeHandle original;
      if (type == H5L_TYPE_HARD) {
        H5ZARR_ASSIGN_OR_RETURN(original, OpenMember(from.object(), name));
        H5ZARR_RETURN_IF_ERROR(fills_.Mend(original, to.object(), name));
      }
      if (store_ != nullptr) H5ZARR_RETURN_IF_ERROR(store_->NoteCreated(node, name.c_str()));
      H5ZARR_RETURN_IF_ERROR(CopyLinkState(from, node, name));
      if (type != H5L_TYPE_HARD) continue;
      H5ZARR_ASSIGN_OR_RETURN(const host::NativeHandle child, OpenMember(to.object(), name));
      H5ZARR_RETURN_IF_ERROR(Finish(original, child, path + "/" + name));
    }
    return OkStatus();
  }

  // The copy of an object that a reference in its file leads to. One that the copy did not come upon is
  // made beside the root's members, under the kind of name HDF5 gives it.
  Result<uint64_t> CopyOf(host::NativeObject in_file, unsigned long fileno, uint64_t token) {
    if (token == 0 || token == HADDR_UNDEF) return uint64_t{0};
    const auto known = copies_.find({fileno, token});
    if (known != copies_.end()) return known->second;
    H5ZARR_ASSIGN_OR_RETURN(const host::NativeHandle from, host::OpenByToken(in_file, token));
    H5ZARR_ASSIGN_OR_RETURN(host::NativeHandle again, host::OpenByToken(in_file, token));
    const H5I_type_t type = again.type();
    H5ZARR_ASSIGN_OR_RETURN(void* wrapper, Wrap(again.Release(), type, nullptr));
    const OwnedObject object(AsObject(wrapper));
    H5ZARR_RETURN_IF_ERROR(source_->Load(object.get()));
    const host::NativeObject base = target_.object->native;
    H5ZARR_ASSIGN_OR_RETURN(const std::string path, UnusedPath(token));
    const H5VL_loc_params_t from_loc = host::LocSelf(from.type()), to_loc = host::LocSelf(base.type);
    H5ZARR_RETURN_IF_ERROR(CopyByHdf5(from.get(), from_loc, ".", target_, to_loc, path.c_str(), list_,
                                      H5P_LST_LINK_CREATE_ID_g, host::DefaultDxpl(), nullptr));
    made_.push_back(path);
    H5ZARR_RETURN_IF_ERROR(fills_.Mend(from, base, path));
    if (store_ != nullptr) {
      H5ZARR_RETURN_IF_ERROR(store_->NoteCreated(store_->root(), path.c_str()));
    }
    H5ZARR_ASSIGN_OR_RETURN(const host::NativeHandle to, OpenAt(base, nullptr, path.c_str()));
    H5ZARR_RETURN_IF_ERROR(Finish(from, to, path));
    return copies_.at({fileno, token});
  }

  Result<std::string> UnusedPath(uint64_t token) {
    for (;; ++token) {
      const std::string path = "/~obj_pointed_by_" + std::to_string(token);
      const H5VL_loc_params_t loc = host::LocByName(target_.object->native.type, path.c_str());
      H5ZARR_ASSIGN_OR_RETURN(const Place at, Locate(target_.object, &loc, nullptr, LastLink::kItself));
      hbool_t exists = false;
      H5VL_link_specific_args_t args;
      args.op_type = H5VL_LINK_EXISTS;
      args.args.exists.exists = &exists;
      H5ZARR_RETURN_IF_ERROR(NativeStatus(
          H5VLlink_specific(at.under(), &at.loc, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr)));
      if (!exists) return path;
    }
  }

  const Place& target_;
  shadow::StoreFile* const store_;
  CopySource* const source_;
  const unsigned options_;
  const hid_t list_;
  std::set<uint64_t> seen_;
  std::map<std::pair<unsigned long, uint64_t>, uint64_t> copies_;
  std::vector<Reference> references_;
  std::vector<NodePtr> by_name_;  // whose dimensions are to be loaded
  std::vector<std::string> made_;
  CopiedFills fills_;
};

Status FinishCopy(const Place& source, const Place& target, CopyFinisher* finisher) {
  H5ZARR_ASSIGN_OR_RETURN(const host::NativeHandle from, OpenAt(source.object->native, &source.loc, source.name));
  H5ZARR_RETURN_IF_ERROR(finisher->MendFill(from, target.object->native, target.path()));
  H5ZARR_ASSIGN_OR_RETURN(const host::NativeHandle to, OpenAt(target.object->native, &target.loc, target.name));
  if (target.store() != nullptr) {
    H5ZARR_RETURN_IF_ERROR(target.store()->NoteCreated(target.object->node, target.name));
  }
  H5ZARR_RETURN_IF_ERROR(finisher->Finish(from, to, target.name));
  H5ZARR_RETURN_IF_ERROR(finisher->FinishReferences());
  return finisher->FinishDimensions();
}

// Loads what is copied. `options` say how.
Status LoadSource(const Place& from, CopySource* source) {
  H5ZARR_ASSIGN_OR_RETURN(host::NativeHandle native, OpenAt(from.object->native, &from.loc, from.name));
  const H5I_type_t type = native.type();
  H5ZARR_ASSIGN_OR_RETURN(void* wrapper, Wrap(native.Release(), type, from.object));
  const OwnedObject object(AsObject(wrapper));
  return source->Load(object.get());
}

}  // namespace

Status CopyObject(const Place& from, const Place& to, hid_t ocpypl, hid_t lcpl, hid_t dxpl, void** request) {
  unsigned options = 0;
  H5ZARR_RETURN_IF_ERROR(NativeStatus(H5Pget_copy_object(ocpypl, &options)));
  constexpr unsigned kFollows = H5O_COPY_EXPAND_SOFT_LINK_FLAG | H5O_COPY_EXPAND_EXT_LINK_FLAG;
  CopySource source(options);
  if (from.store() != nullptr || (options & kFollows) != 0) {
    H5ZARR_RETURN_IF_ERROR(LoadSource(from, &source));
  }
  const bool in_store = source.met_store() || to.store() != nullptr;
  if (to.store() != nullptr && (options & H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG) != 0) {
    H5ZARR_RETURN_IF_ERROR(to.store()->Fill(to.store()->root(), true));
  }
  // HDF5 would copy headers of what references lead to, and nothing from within datasets.
  Handle list(H5Pcopy(ocpypl));
  if (!list.valid()) return host::AlreadyReported();
  if (in_store) {
    H5ZARR_RETURN_IF_ERROR(NativeStatus(H5Pset_copy_object(list.get(), options & ~H5O_COPY_EXPAND_REFERENCE_FLAG)));
  }
  H5ZARR_RETURN_IF_ERROR(
      CopyByHdf5(from.under(), from.loc, from.name, to, to.loc, to.name, list.get(), lcpl, dxpl, request));
  if (!in_store) return OkStatus();
  CopyFinisher finisher(to, &source, options, list.get());
  const Status finished = FinishCopy(from, to, &finisher);
  // An incomplete copy is no copy.
  if (!finished.ok()) finisher.Undo(finished);
  return UndoOnFailure(to, finished);
}

}  // namespace h5zarr
