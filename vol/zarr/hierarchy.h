// Hierarchy: the nodes of a Zarr store — which paths are groups, which are arrays, and their
// metadata documents. Per-node documents are the truth where the store can list; consolidated
// metadata is only kept true, never trusted (a stale one hides nodes).
//
// It knows nothing of chunks. Not thread-safe; callers hold their own lock.
#ifndef H5ZARR_ZARR_HIERARCHY_H_
#define H5ZARR_ZARR_HIERARCHY_H_

#include <cstddef>
#include <cstdint>
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

// A node's path: '/'-separated names, "" for the root, no leading or trailing '/'.
struct Node {
  std::string path;
  std::variant<GroupMetadata, ArrayMetadata> metadata;
  bool implicit = false;  // a group without a document, known by what lies below it
  // Of an array: in which state its document was read, where the store tells that for nothing (Store::StateNow) and
  // it was settled.
  Generation document_state;

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

  // Stores the node's document(s), creating or replacing. Its parents must have been stored before:
  // writing never makes implicit groups. The document is replaced atomically (v2: .zattrs first,
  // then .zarray or .zgroup). Unchanged documents are the caller's business to skip; so is
  // CheckNodeName for new names, since stores of others may hold nodes whose names it refuses.
  Status Write(const Node& node);

  // Removes a node and everything below it: chunks and children go first and its own document last,
  // except that the document of an array goes first (a half-deleted array must not read as fill).
  // kNotFound where there is none.
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
    static constexpr std::size_t kMostDocumentBytes = 64 << 10;  // of one
    static constexpr std::size_t kMostNames = 256;               // of one list
    std::map<std::string, std::optional<std::string>> documents;  // by key; nothing: not there
    std::map<std::string, std::vector<std::string>> names;        // by path
  };

  Result<std::optional<Buffer>> ReadDocument(const std::string& key, Generation* generation = nullptr);
  Generation StateOf(const std::string& key, const Generation& read) const;
  void KeepDocument(const std::string& key, const std::optional<Buffer>& bytes);
  void KeepNames(const std::string& path, const std::vector<std::string>& names);
  Result<std::vector<std::string>> NamesBelow(const std::string& path);
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
  std::unordered_set<std::string> groups_;          // paths at which a group's document was seen
  std::unordered_set<std::string> unconsolidated_;  // groups below the root that have none any more
  std::optional<bool> has_consolidated_;            // before our first change
  int consolidated_format_ = 0;                     // 2 or 3: what RewriteConsolidated writes
  bool consolidated_invalidated_ = false;
};

// kInvalidArgument, saying which rule, unless `name` may be the name of a node: not empty, no '/',
// no NUL, not only dots ("." and ".." would leave the store), not "zarr.json", not starting with
// ".z", at most 255 bytes, and no name this library uses for temporary files. (v3 reserves names that
// start with "__", which programs use all the same and all readers take.)
Status CheckNodeName(std::string_view name);

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_HIERARCHY_H_
