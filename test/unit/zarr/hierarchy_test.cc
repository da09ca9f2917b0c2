#include "zarr/hierarchy.h"

#include <algorithm>
#include <cerrno>

#include "catch.h"
#include "store/memory_store.h"

namespace h5zarr::zarr {
namespace {

using Names = std::vector<std::string>;

constexpr std::string_view kGroupV3 = R"({"zarr_format": 3, "node_type": "group"})";
constexpr std::string_view kArrayV3 = R"({"zarr_format": 3, "node_type": "array", "shape": [4],
  "data_type": "int8", "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
  "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]})";
constexpr std::string_view kGroupV2 = R"({"zarr_format": 2})";
constexpr std::string_view kArrayV2 =
    R"({"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|i1",
  "fill_value": 0, "order": "C", "filters": null, "compressor": null})";

struct Fixture {
  std::unique_ptr<Store> store = MakeMemoryStore();
  Hierarchy hierarchy{store.get()};

  void Put(std::string_view key, std::string_view text) { REQUIRE(store->Write(key, AsBytes(text)).ok()); }
  std::string Text(std::string_view key) {
    const auto bytes = store->Read(key);
    REQUIRE(bytes.ok());
    return *bytes ? std::string(AsText(**bytes)) : std::string("absent");
  }
  bool Has(std::string_view key) { return store->ObjectBytes(key)->has_value(); }
  // "array", "group", "implicit", "none" or the failure's name.
  std::string What(std::string_view path) {
    const auto node = hierarchy.Open(path);
    if (!node.ok()) return std::string(StatusCodeName(node.status().code()));
    if (!*node) return "none";
    if ((*node)->implicit) return "implicit";
    return (*node)->is_array() ? "array" : "group";
  }
  Names List(std::string_view path) {
    auto names = hierarchy.ListNames(path);
    INFO(names.status().message());
    REQUIRE(names.ok());
    return *names;
  }
};

TEST_CASE("nodes of both formats open") {
  Fixture f;
  f.Put("zarr.json", kGroupV3);
  f.Put("a/zarr.json", kArrayV3);
  f.Put("g/.zgroup", kGroupV2);
  f.Put("g/.zattrs", R"({"k": 1})");
  f.Put("g/b/.zarray", kArrayV2);
  CHECK(f.What("") == "group");
  CHECK(f.What("a") == "array");
  CHECK(f.What("g") == "group");
  CHECK(f.What("g/b") == "array");
  CHECK((*f.hierarchy.Open("g"))->attributes()["k"] == 1);
  CHECK(f.What("x") == "none");
  CHECK(f.What("a/c") == "none");
}

TEST_CASE("zarr.json goes before v2 documents, and .zarray before .zgroup") {
  Fixture f;
  f.Put("a/zarr.json", kGroupV3);
  f.Put("a/.zarray", kArrayV2);
  f.Put("b/.zarray", kArrayV2);
  f.Put("b/.zgroup", kGroupV2);
  CHECK(f.What("a") == "group");
  CHECK(f.What("b") == "array");
}

TEST_CASE("opening a v3 node reads one document") {
  Fixture f;
  f.Put("zarr.json", kGroupV3);
  f.Put("a/zarr.json", kArrayV3);
  f.What("a");
  CHECK(f.hierarchy.documents_read() == 1);
}

TEST_CASE("a document that cannot be read is an error naming its key") {
  Fixture f;
  f.Put("a/zarr.json", "{");
  f.Put("b/zarr.json", R"({"zarr_format": 3, "node_type": "thing"})");
  f.Put("c/.zarray", "[]");
  f.Put("d/.zgroup", kGroupV2);
  f.Put("d/.zattrs", "");
  CHECK(f.What("a") == "corrupt data");
  CHECK(f.What("b") == "corrupt data");
  CHECK(f.What("c") == "corrupt data");
  CHECK(f.What("d") == "corrupt data");
  CHECK(f.hierarchy.Open("a").status().message().starts_with("a/zarr.json"));
}

TEST_CASE("folders above nodes are implicit groups of the nodes' format") {
  Fixture f;
  f.Put("v3/x/y/zarr.json", kArrayV3);
  f.Put("v2/x/.zarray", kArrayV2);
  f.Put("other/x/file", "1");
  CHECK(f.What("") == "implicit");
  CHECK(f.What("v3") == "implicit");
  CHECK(f.What("v3/x") == "implicit");
  CHECK((*f.hierarchy.Open("v2"))->group().zarr_format == 2);
  CHECK((*f.hierarchy.Open("v3"))->group().zarr_format == 3);
  CHECK(f.What("other") == "none");
  CHECK(f.List("") == Names{"v2", "v3"});
  CHECK(f.List("v3") == Names{"x"});
}

TEST_CASE("an empty store has no root") {
  Fixture f;
  CHECK(f.What("") == "none");
  CHECK(f.List("").empty());
}

TEST_CASE("implicit groups are looked for four levels deep") {
  Fixture f;
  f.Put("near/1/2/3/4/zarr.json", kArrayV3);
  f.Put("far/1/2/3/4/5/zarr.json", kArrayV3);
  CHECK(f.What("near") == "implicit");
  CHECK(f.What("far") == "none");
}

TEST_CASE("nothing is a node below an array") {
  Fixture f;
  f.Put("zarr.json", kGroupV3);
  f.Put("a/zarr.json", kArrayV3);
  f.Put("a/c/0", "12");
  f.Put("a/c/x/zarr.json", kGroupV3);
  f.Put("b/.zarray", kArrayV2);
  f.Put("b/x/y/.zgroup", kGroupV2);
  CHECK(f.List("a").empty());
  CHECK(f.List("a/c").empty());
  CHECK(f.List("b").empty());
  CHECK(f.What("a/c") == "none");
  CHECK(f.What("b/x") == "none");
}

TEST_CASE("listing shows nodes only, whatever their names, in byte order") {
  Fixture f;
  f.Put("zarr.json", kGroupV3);
  Names names = {"with space", "100%", "\u00e9t\u00e9", "e\u0301",     "\u6570\u636e",
                 "Case",       "case", "dot.name",      "..hidden",    "c",
                 "0",          "__x",  ".dot",          "back\\slash", std::string(200, 'x')};
  for (const std::string& name : names) f.Put(name + "/zarr.json", kArrayV3);
  f.Put("v2/.zgroup", kGroupV2);
  f.Put("notes/readme.txt", "1");
  f.Put("file", "1");
  names.push_back("v2");
  std::sort(names.begin(), names.end());
  CHECK(f.List("") == names);
  for (const std::string& name : names) CHECK(f.What(name) != "none");
}

TEST_CASE("listing an opened group reads no document") {
  Fixture f;
  f.Put("zarr.json", kGroupV3);
  for (int i = 0; i < 10; ++i) f.Put("a" + std::to_string(i) + "/zarr.json", kArrayV3);
  f.What("");
  const uint64_t before = f.hierarchy.documents_read();
  CHECK(f.List("").size() == 10);
  CHECK(f.hierarchy.documents_read() == before);
}

TEST_CASE("paths that leave the store or name metadata are no nodes") {
  Fixture f;
  f.Put("zarr.json", kGroupV3);
  for (const char* path :
       {"..", "../secret", "a/../../b", ".", "./a", "/", "/a", "a/", "a//b", "zarr.json", ".zgroup", ".zattrs"}) {
    INFO(path);
    CHECK(f.What(path) == "none");
    Node node;
    node.path = path;
    CHECK(f.hierarchy.Write(node).status().code() == StatusCode::kInvalidArgument);
  }
  CHECK(f.What(std::string_view("a\0b", 3)) == "none");
}

TEST_CASE("a written node opens again") {
  Fixture f;
  for (const int format : {2, 3}) {
    Node root;
    GroupMetadata group;
    group.zarr_format = format;
    group.attributes["k"] = "v";
    root.metadata = group;
    REQUIRE(f.hierarchy.Write(root).ok());
    Hierarchy again(f.store.get());
    const auto node = again.Open("");
    REQUIRE(node.ok());
    CHECK((*node)->group().zarr_format == format);
    CHECK((*node)->group().attributes == group.attributes);
  }
}

TEST_CASE("v2 attributes that were emptied leave no document") {
  Fixture f;
  f.Put("g/.zgroup", kGroupV2);
  f.Put("g/.zattrs", R"({"k": 1})");
  Node node = **f.hierarchy.Open("g");
  node.attributes() = Json::object();
  REQUIRE(f.hierarchy.Write(node).ok());
  CHECK_FALSE(f.Has("g/.zattrs"));
}

// Ours, with the attribute `theirs` of what another writer stored.
Result<Node> TakeTheirs(const Node*, const Node& ours, const Node& theirs) {
  Node merged = ours;
  if (theirs.attributes().contains("theirs")) merged.attributes()["theirs"] = theirs.attributes()["theirs"];
  return merged;
}

TEST_CASE("an update keeps what another writer stored meanwhile, and writes nothing that is there") {
  for (const int format : {2, 3}) {
    Fixture f;
    f.hierarchy.KeepStored();
    const std::string key = format == 3 ? "g/zarr.json" : "g/.zattrs";
    if (format == 2) f.Put("g/.zgroup", kGroupV2);
    f.Put(key, format == 3 ? kGroupV3 : "{}");
    Node node = **f.hierarchy.Open("g");
    node.attributes()["ours"] = 1;
    auto updated = f.hierarchy.Update(node, TakeTheirs);
    REQUIRE(updated.ok());
    CHECK_FALSE(updated->merged.has_value());
    node.as_stored = updated->stored;
    Generation before, after;
    REQUIRE(f.store->Read(key, &before).ok());
    REQUIRE(f.hierarchy.Update(node, TakeTheirs).ok());
    REQUIRE(f.store->Read(key, &after).ok());
    CHECK(before == after);
    CHECK(*f.hierarchy.IsAsStored(node));
    f.Put(key, format == 3 ? R"({"zarr_format": 3, "node_type": "group", "attributes": {"theirs": 2}})"
                           : R"({"theirs": 2})");
    CHECK_FALSE(*f.hierarchy.IsAsStored(node));
    node.attributes()["ours"] = 3;
    updated = f.hierarchy.Update(node, TakeTheirs);
    REQUIRE(updated.ok());
    REQUIRE(updated->merged.has_value());
    Hierarchy again(f.store.get());
    CHECK((*again.Open("g"))->attributes() == Json{{"ours", 3}, {"theirs", 2}});
  }
}

TEST_CASE("a refused merge leaves the other's document, and a document that is gone is not made anew") {
  Fixture f;
  f.hierarchy.KeepStored();
  f.Put("g/zarr.json", kGroupV3);
  Node node = **f.hierarchy.Open("g");
  node.attributes()["ours"] = 1;
  const std::string theirs = R"({"zarr_format": 3, "node_type": "group", "attributes": {"theirs": 2}})";
  f.Put("g/zarr.json", theirs);
  const auto refuse = [](const Node*, const Node&, const Node&) -> Result<Node> { return ChangedError("both"); };
  const Status refused = f.hierarchy.Update(node, refuse).status();
  CHECK(refused.code() == StatusCode::kChanged);
  CHECK(refused.message().find("g/zarr.json: both") != std::string::npos);
  CHECK(f.Text("g/zarr.json") == theirs);
  REQUIRE(f.store->Delete("g/zarr.json").ok());
  CHECK(f.hierarchy.Update(node, TakeTheirs).status().errno_value() == ENOENT);
  CHECK_FALSE(f.Has("g/zarr.json"));
}

TEST_CASE("a new node meets one that another writer has made") {
  Fixture f;
  f.hierarchy.KeepStored();
  f.Put("g/zarr.json", R"({"zarr_format": 3, "node_type": "group", "attributes": {"theirs": 2}})");
  Node node;
  node.path = "g";
  node.attributes()["ours"] = 1;
  bool had_base = true;
  const auto updated = f.hierarchy.Update(node, [&](const Node* base, const Node& ours, const Node& theirs) {
    had_base = base != nullptr;
    return TakeTheirs(base, ours, theirs);
  });
  REQUIRE(updated.ok());
  CHECK_FALSE(had_base);
  Hierarchy again(f.store.get());
  CHECK((*again.Open("g"))->attributes() == Json{{"ours", 1}, {"theirs", 2}});
}

TEST_CASE("consolidated metadata that another writer made anew is found") {
  Fixture f;
  f.Put("zarr.json", kGroupV3);
  CHECK_FALSE(*f.hierarchy.HasConsolidated());
  REQUIRE(f.hierarchy.InvalidateConsolidated().ok());
  CHECK_FALSE(*f.hierarchy.FindNewConsolidated());
  f.Put("zarr.json", R"({"zarr_format": 3, "consolidated_metadata": {}, "node_type": "group"})");
  CHECK(*f.hierarchy.FindNewConsolidated());
  REQUIRE(f.hierarchy.InvalidateConsolidated().ok());
  CHECK(f.Text("zarr.json").find("consolidated_metadata") == std::string::npos);
}

TEST_CASE("removing a group removes all below it and nothing beside it") {
  Fixture f;
  f.Put("zarr.json", kGroupV3);
  f.Put("g/zarr.json", kGroupV3);
  f.Put("g/a/zarr.json", kArrayV3);
  f.Put("g/a/c/0", "12");
  f.Put("gg/zarr.json", kArrayV3);
  REQUIRE(f.hierarchy.Remove("g").ok());
  CHECK_FALSE(f.Has("g/a/c/0"));
  CHECK(f.What("g") == "none");
  CHECK(f.List("") == Names{"gg"});
  CHECK(f.hierarchy.Remove("g").code() == StatusCode::kNotFound);
}

// A store that cannot remove folders.
class StuckStore final : public Store {
 public:
  explicit StuckStore(Store* store) : store_(store) {}
  std::string Describe() const override { return store_->Describe(); }
  Status ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) override {
    return store_->ReadBatch(ops, sink, executor);
  }
  Result<std::optional<Buffer>> Read(std::string_view key, Generation* generation) override {
    return store_->Read(key, generation);
  }
  Status Write(std::string_view key, ByteSpan bytes) override { return store_->Write(key, bytes); }
  Result<bool> Delete(std::string_view key) override { return store_->Delete(key); }
  Status DeletePrefix(std::string_view) override { return PermissionDeniedError("stuck"); }
  Status RenamePrefix(std::string_view from, std::string_view to) override { return store_->RenamePrefix(from, to); }
  Result<std::optional<uint64_t>> ObjectBytes(std::string_view key) override { return store_->ObjectBytes(key); }
  Result<std::vector<ListEntry>> List(std::string_view prefix) override { return store_->List(prefix); }
  Status Walk(std::string_view prefix, const std::function<Status(std::string_view, uint64_t)>& visit) override {
    return store_->Walk(prefix, visit);
  }
  Result<std::shared_ptr<void>> Lock(std::string_view document_key, uint64_t resource) override {
    return store_->Lock(document_key, resource);
  }

 private:
  Store* store_;
};

TEST_CASE("a half-removed array is no array any more, and its group still is one") {
  Fixture f;
  f.Put("g/zarr.json", kGroupV3);
  f.Put("g/a/zarr.json", kArrayV3);
  f.Put("g/a/c/0", "12");
  StuckStore stuck(f.store.get());
  Hierarchy hierarchy(&stuck);
  CHECK(hierarchy.Remove("g").code() == StatusCode::kPermissionDenied);
  CHECK(f.Has("g/a/c/0"));
  CHECK(f.What("g/a") == "none");
  CHECK(f.What("g") == "group");
}

TEST_CASE("a node moves with all below it, but not into itself or onto another") {
  Fixture f;
  f.Put("zarr.json", kGroupV3);
  f.Put("g/zarr.json", kGroupV3);
  f.Put("g/a/zarr.json", kArrayV3);
  f.Put("h/zarr.json", kGroupV3);
  CHECK(f.hierarchy.Move("g", "g/x").code() == StatusCode::kInvalidArgument);
  CHECK(f.hierarchy.Move("g", "h").code() == StatusCode::kAlreadyExists);
  REQUIRE(f.hierarchy.Move("g", "h/n").ok());
  CHECK(f.What("g") == "none");
  CHECK(f.What("h/n/a") == "array");
}

TEST_CASE("the first change removes v3 consolidated metadata and keeps the rest of the root") {
  Fixture f;
  f.Put("zarr.json",
        R"({"attributes": {"v": 1}, "zarr_format": 3, "consolidated_metadata": {"kind": "inline",
        "must_understand": false, "metadata": {}}, "node_type": "group"})");
  CHECK(*f.hierarchy.HasConsolidated());
  Node node;
  node.path = "n";
  REQUIRE(f.hierarchy.Write(node).ok());
  CHECK(ParseJson(f.Text("zarr.json"), "root")->dump() ==
        R"({"attributes":{"v":1},"zarr_format":3,"node_type":"group"})");
  CHECK(*f.hierarchy.HasConsolidated());  // it was there before our first change
}

TEST_CASE("a change below a nested group removes that group's consolidated metadata") {
  Fixture f;
  f.Put("g/zarr.json", R"({"zarr_format": 3, "consolidated_metadata": {}, "node_type": "group"})");
  f.Put("g/v2/.zgroup", kGroupV2);
  f.Put("g/v2/.zmetadata", "{}");
  Node node;
  node.path = "g/v2/n";
  REQUIRE(f.hierarchy.Write(node).ok());
  CHECK(f.Text("g/zarr.json").find("consolidated_metadata") == std::string::npos);
  CHECK_FALSE(f.Has("g/v2/.zmetadata"));
}

TEST_CASE("the first change removes v2 consolidated metadata") {
  Fixture f;
  f.Put(".zgroup", kGroupV2);
  f.Put(".zmetadata", R"({"zarr_consolidated_format": 1, "metadata": {}})");
  REQUIRE(f.hierarchy.InvalidateConsolidated().ok());
  CHECK_FALSE(f.Has(".zmetadata"));
}

TEST_CASE("v3 consolidated metadata are rewritten with every node's document") {
  Fixture f;
  f.Put("zarr.json",
        R"({"attributes": {"v": 1}, "zarr_format": 3, "consolidated_metadata": {"kind": "inline",
        "must_understand": false, "metadata": {"gone": {}}}, "node_type": "group"})");
  f.Put("a\"b/zarr.json", kArrayV3);
  f.Put("i/g/zarr.json", kGroupV3);
  REQUIRE(f.hierarchy.InvalidateConsolidated().ok());
  REQUIRE(f.hierarchy.RewriteConsolidated().ok());
  const Json root = *ParseJson(f.Text("zarr.json"), "root");
  CHECK(root["attributes"]["v"] == 1);
  const Json& consolidated = root["consolidated_metadata"];
  CHECK(consolidated["kind"] == "inline");
  CHECK(consolidated["must_understand"] == false);
  CHECK(consolidated["metadata"]["a\"b"] == *ParseJson(kArrayV3, "array"));
  CHECK(consolidated["metadata"]["i"]["node_type"] == "group");
  CHECK(consolidated["metadata"].size() == 3);
}

TEST_CASE("a change after rewriting removes consolidated metadata again") {
  Fixture f;
  f.Put("zarr.json", R"({"zarr_format": 3, "consolidated_metadata": {}, "node_type": "group"})");
  Node node;
  node.path = "n";
  REQUIRE(f.hierarchy.Write(node).ok());
  REQUIRE(f.hierarchy.RewriteConsolidated().ok());
  CHECK(f.Text("zarr.json").find("consolidated_metadata") != std::string::npos);
  node.path = "m";
  REQUIRE(f.hierarchy.Write(node).ok());
  CHECK(f.Text("zarr.json").find("consolidated_metadata") == std::string::npos);
}

TEST_CASE("v2 consolidated metadata are rewritten with every document") {
  Fixture f;
  f.Put(".zgroup", kGroupV2);
  f.Put(".zmetadata", R"({"zarr_consolidated_format": 1, "metadata": {"gone/.zgroup": {}}})");
  f.Put("g/a/.zarray", kArrayV2);  // "g" is an implicit group
  f.Put("g/a/.zattrs", R"({"k": NaN})");
  REQUIRE(f.hierarchy.RewriteConsolidated().ok());
  const Json root = *ParseJson(f.Text(".zmetadata"), "root");
  CHECK(root["zarr_consolidated_format"] == 1);
  CHECK(root["metadata"].size() == 4);
  // Values of other writers stay as they were spelled.
  CHECK(f.Text(".zmetadata").find("NaN") != std::string::npos);
  CHECK(f.Text(".zmetadata").find("\"NaN\"") == std::string::npos);
  CHECK(root["metadata"]["g/.zgroup"]["zarr_format"] == 2);
}

TEST_CASE("a store without consolidated metadata gets none") {
  Fixture f;
  f.Put("zarr.json", kGroupV3);
  REQUIRE(f.hierarchy.RewriteConsolidated().ok());
  CHECK(f.Text("zarr.json") == kGroupV3);
}

TEST_CASE("names that Zarr or this library keep for themselves are refused") {
  for (const char* name : {"a", "..hidden", "a..b", "c", "0", "\u00e9", "with space", "a_", "_x", ".x"}) {
    INFO(name);
    CHECK(CheckNodeName(name).ok());
  }
  for (const char* name : {"", ".", "..", "...", "a/b", "zarr.json", ".zarray", ".zfoo"}) {
    INFO(name);
    CHECK(CheckNodeName(name).code() == StatusCode::kInvalidArgument);
  }
  CHECK_FALSE(CheckNodeName(std::string(256, 'x')).ok());
  CHECK_FALSE(CheckNodeName(std::string_view("a\0b", 3)).ok());
}

}  // namespace
}  // namespace h5zarr::zarr
