// Hierarchy: the nodes of a Zarr store — which paths are groups, which are arrays, and their
// metadata documents. Per-node documents are the truth where the store can list; consolidated
// metadata is only kept true, never trusted (a stale one hides nodes).
//
// It knows nothing of chunks. Not thread-safe; callers hold their own lock.
#ifndef H5ZARR_ZARR_HIERARCHY_H_
#define H5ZARR_ZARR_HIERARCHY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "store/store.h"
#include "zarr/metadata.h"

namespace h5zarr::zarr {

// A node's documents as they lay in the store when they were read, or written here.
struct StoredDocuments {
  std::string document;    // zarr.json, .zarray or .zgroup; "" where there is none
  std::string attributes;  // .zattrs; the same
  Generation document_state, attributes_state;
  bool is_cut = false;  // consolidated metadata was in the document, and is not in its text here
};
using StoredPtr = std::shared_ptr<const StoredDocuments>;

// A node's path: '/'-separated names, "" for the root, no leading or trailing '/'.
struct Node {
  std::string path;
  std::variant<GroupMetadata, ArrayMetadata> metadata;
  bool implicit = false;  // a group without a document, known by what lies below it
  // Of an array: in which state its document was read, where the store tells that for nothing (Store::StateNow) and
  // it was settled.
  Generation document_state;
  StoredPtr as_stored;  // see Hierarchy::KeepStored; null of a node that has no document yet

  bool is_array() const { return std::holds_alternative<ArrayMetadata>(metadata); }
  const ArrayMetadata& array() const { return std::get<ArrayMetadata>(metadata); }
  const GroupMetadata& group() const { return std::get<GroupMetadata>(metadata); }
  const Json& attributes() const;
  Json& attributes() { return const_cast<Json&>(std::as_const(*this).attributes()); }
};

class Hierarchy {
 public:
  // `store` must outlive this. Reads nothing.
  explicit Hierarchy(Store* store) : store_(store) {}

  // The node at `path`, or nothing where there is none. v3's zarr.json goes before v2's .zarray and
  // .zgroup. A folder without a document is an implicit group when there is a node somewhere below
  // it (at most 4 levels and 1,000 entries are looked at); never below an array. A document that
  // cannot be parsed is an error (kCorrupt or kUnsupported) naming the key.
  // Costs: one read per existing v3 node, at most three more for v2.
  Result<std::optional<Node>> Open(std::string_view path);

  // The names of the nodes directly below group `path`, sorted bytewise; none below an array. Costs
  // one listing and a stat or two an entry; a document is read only to tell whether `path` is an
  // array where Open or Write has not already seen a group there. Folders that are neither nodes
  // nor implicit groups, files and dot-names that are no nodes are left out; those that may not be looked at
  // are listed, and Open says why.
  Result<std::vector<std::string>> ListNames(std::string_view path);

  // Stores the node's document(s), creating or replacing, whatever is there. Its parents must have been stored
  // before: writing never makes implicit groups. The document is replaced atomically (v2: .zattrs first, then
  // .zarray or .zgroup). CheckNodeName is the caller's business for new names, since stores of others may hold
  // nodes whose names it refuses. Gives what is stored now.
  Result<StoredPtr> Write(const Node& node);

  // Makes one node of what is to be written and what another writer stored meanwhile. `base`: what both began with,
  // null where there was nothing.
  using Merge = std::function<Result<Node>(const Node* base, const Node& ours, const Node& theirs)>;
  struct Updated {
    StoredPtr stored;
    std::optional<Node> merged;  // what was written in place of the node, where another had changed it
  };
  // Write, but for what others changed since `node.as_stored`: documents in another state are read again and merged
  // with `node`. Documents that say the same are not written. An error (kIo, ENOENT) where the node's document is gone;
  // kChanged where others keep changing it; those of `merge`, with the key. Of writers that lock (in whatever process)
  // and in stores that know conditions no change is lost; elsewhere there is an instant between a look and a write.
  Result<Updated> Update(const Node& node, const Merge& merge);

  // Whether the node's documents are still those it was read from or written as. Reads them.
  Result<bool> IsAsStored(const Node& node);

  // Removes a node and everything below it. Where the store cannot do that in one step: chunks and children go first
  // and its own document last, except that the document of an array goes first (a half-deleted array must not read as
  // fill). kNotFound where there is none.
  Status Remove(std::string_view path);

  // Moves a node with everything below it. `to` must not exist.
  Status Move(std::string_view from, std::string_view to);

  // Consolidated metadata: v3's member of the root document, or v2's .zmetadata.
  // HasConsolidated reads the root once and remembers whether it was there before our first change;
  // Invalidate removes it (once; cheap later) and is part of Write, Remove and Move, which also
  // remove that of the groups between the root and what they change; Rewrite walks all nodes and
  // writes it anew in the form that was there, or does nothing where none was.
  Result<bool> HasConsolidated();
  Status InvalidateConsolidated();
  Status RewriteConsolidated();
  // Whether another writer has written consolidated metadata since it was last looked for: then it is there as if it
  // had been from the beginning, and is to be invalidated again. Reads the root.
  Result<bool> FindNewConsolidated();

  // From now on opened nodes know what they were read from (Node::as_stored), for Update.
  void KeepStored() { keeps_stored_ = true; }

  // Another writer changed something at or below `path`: nothing is remembered of it.
  void Forget(std::string_view path);
  // Another writer may have written consolidated metadata anew: that of the root is asked for again, unless
  // it was removed here, that of groups is removed again.
  void ForgetUnconsolidated();

  // From now on what is read is kept, documents and lists of names, for StillTheSame: as long as it is little.
  void KeepRead() { kept_.emplace(); }
  void ForgetRead() { kept_.reset(); }
  bool keeps_read() const { return kept_.has_value(); }
  // Whether all documents that were read are byte for byte what they were, those that were not there still are
  // not, and lists have the same names. Reads them again. False where they are not kept.
  bool StillTheSame();

  // How many documents were read so far (for tests of laziness).
  uint64_t documents_read() const { return documents_read_; }

  Store* store() const { return store_; }

 private:
  enum class Kind : uint8_t { kAbsent, kGroup, kArray };

  // What was read, for StillTheSame.
  struct Kept {
    static constexpr std::size_t kMostDocuments = 64;
    static constexpr std::size_t kMostDocumentBytes = 64 << 10;   // of one
    static constexpr std::size_t kMostNames = 256;                // of one list
    std::map<std::string, std::optional<std::string>> documents;  // by key; nothing: not there
    std::map<std::string, std::vector<std::string>> names;        // by path
  };

  Result<std::optional<Buffer>> ReadDocument(const std::string& key, Generation* generation = nullptr);
  Generation StateOf(const std::string& key, const Generation& read) const;
  void KeepDocument(const std::string& key, const std::optional<Buffer>& bytes);
  void KeepNames(const std::string& path, const std::vector<std::string>& names);
  Result<std::vector<std::string>> NamesBelow(const std::string& path);
  // update.cc
  Result<StoredDocuments> ReadStored(const Node& node);
  Result<std::optional<Node>> MergeStored(const Node& node, const StoredDocuments& now, const Merge& merge);
  Result<bool> Put(const std::string& key, const std::string& text, std::string* there, Generation* state);
  Result<bool> PutTexts(const Node& node, const MetadataTexts& texts, StoredDocuments* now);
  Status ChangeDocument(
      const std::string& key,
      const std::function<Result<std::optional<std::string>>(const Json& members, bool is_cut)>& change);
  void NoteWritten(const Node& node);

  Result<std::optional<Node>> OpenV3(const std::string& path);
  Result<std::optional<Node>> OpenV2(const std::string& path);
  Result<std::optional<Node>> OpenImplicit(const std::string& path);
  // What the documents at `path` itself say.
  Result<Kind> KindAt(const std::string& path);
  Result<bool> IsBelowArray(const std::string& path);
  Status RemoveBelow(const std::string& path, Kind kind);
  // InvalidateConsolidated, and the same for each group above `path` once.
  Status InvalidateAbove(std::string_view path);
  // Removes consolidated metadata of `zarr_format` at group `path`.
  Status RemoveConsolidated(const std::string& path, int zarr_format);

  // Texts of all nodes below `path`, as `"path": document` members joined by commas.
  Status ConsolidateV3(const std::string& path, std::string* members);
  Status ConsolidateV2(const std::string& path, std::string* members);
  Status RewriteConsolidatedV3();
  Status RewriteConsolidatedV2();

  Store* store_;
  uint64_t documents_read_ = 0;
  std::optional<Kept> kept_;
  bool keeps_stored_ = false;
  std::unordered_set<std::string> groups_;          // paths at which a group's document was seen
  std::unordered_set<std::string> unconsolidated_;  // groups below the root that have none any more
  std::optional<bool> has_consolidated_;            // before our first change
  int consolidated_format_ = 0;                     // 2 or 3: what RewriteConsolidated writes
  bool consolidated_invalidated_ = false;
};

// The format of a node, and the key of the document that makes it one.
int FormatOf(const Node& node);
std::string DocumentKey(const Node& node);

// kInvalidArgument, saying which rule, unless `name` may be the name of a node: not empty, no '/',
// no NUL, not only dots ("." and ".." would leave the store), not "zarr.json", not starting with
// ".z", at most 255 bytes, and no name this library uses for temporary files. (v3 reserves names that
// start with "__", which programs use all the same and all readers take.)
Status CheckNodeName(std::string_view name);

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_HIERARCHY_H_
