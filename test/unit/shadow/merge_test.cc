// Two writers' changes of the same documents, joined.
#include <string>

#include "catch.h"
#include "shadow/merge_documents.h"
#include "zarr/json.h"

namespace h5zarr::shadow {
namespace {

using zarr::Json;

zarr::Node GroupOf(const std::string& attributes) {
  zarr::GroupMetadata group;
  group.attributes = *zarr::ParseJson(attributes, "attributes");
  zarr::Node node;
  node.path = "g";
  node.metadata = std::move(group);
  return node;
}

zarr::Node ArrayOf(const std::string& attributes, std::vector<uint64_t> shape = {4}) {
  zarr::ArrayMetadata array;
  array.attributes = *zarr::ParseJson(attributes, "attributes");
  array.chunk_shape = std::vector<uint64_t>(shape.size(), 2);
  array.shape = std::move(shape);
  zarr::Node node;
  node.path = "a";
  node.metadata = std::move(array);
  return node;
}

std::string Merged(const zarr::Node& base, const zarr::Node& ours, const zarr::Node& theirs) {
  const Result<zarr::Node> merged = MergeDocuments(&base, ours, theirs);
  return merged.ok() ? zarr::DumpJson(merged->attributes(), -1) : merged.status().message();
}

std::string MergedGroups(const std::string& base, const std::string& ours, const std::string& theirs) {
  return Merged(GroupOf(base), GroupOf(ours), GroupOf(theirs));
}

bool Conflicts(const std::string& said, const std::string& what) { return said.find(what) == 0; }

TEST_CASE("what one side alone changed is taken, in the order of the other's document") {
  CHECK(MergedGroups(R"({"a": 1, "b": 1, "c": 1})", R"({"a": 2, "c": 1, "n": 5})",
                     R"({"b": 1, "m": 3, "a": 1, "c": 2})") == R"({"m":3,"a":2,"c":2,"n":5})");
  CHECK(MergedGroups("{}", "{}", R"({"a": null})") == R"({"a":null})");
  CHECK(MergedGroups(R"({"a": null})", "{}", R"({"a": null})") == "{}");
}

TEST_CASE("what both changed is joined only where it is the same") {
  CHECK(MergedGroups(R"({"a": 1})", R"({"a": 2})", R"({"a": 2, "b": 1})") == R"({"a":2,"b":1})");
  CHECK(MergedGroups(R"({"a": 1})", "{}", "{}") == "{}");
  CHECK(Conflicts(MergedGroups(R"({"a": 1})", R"({"a": 2})", R"({"a": 3})"), "attribute 'a' was changed"));
  CHECK(Conflicts(MergedGroups(R"({"a": 1})", "{}", R"({"a": 3})"), "attribute 'a'"));
  CHECK(Conflicts(MergedGroups("{}", R"({"a": 1})", R"({"a": 1.0})"), "attribute 'a'"));
}

TEST_CASE("values that JSON cannot compare, or that are spelled otherwise, are no change") {
  CHECK(MergedGroups(R"({"a": NaN, "b": {"x": 1, "y": [NaN]}})", R"({"a": NaN, "b": {"x": 1, "y": [NaN]}, "n": 1})",
                     R"({"a": NaN, "b": {"y": [NaN], "x": 1}, "m": 1})") ==
        R"({"a":NaN,"b":{"y":[NaN],"x":1},"m":1,"n":1})");
}

TEST_CASE("an attribute's type belongs to it") {
  const std::string base = R"({"a": 1, "_hdf5": {"version": 1, "attrs": {"a": {"type": "i4"}}}})";
  const std::string retyped = R"({"a": 1, "_hdf5": {"version": 1, "attrs": {"a": {"type": "i8"}}}})";
  CHECK(MergedGroups(base, retyped, base) == R"({"a":1,"_hdf5":{"version":1,"attrs":{"a":{"type":"i8"}}}})");
  CHECK(Conflicts(MergedGroups(base, retyped, R"({"a": 2, "_hdf5": {"version": 1, "attrs": {"a": {"type": "i4"}}}})"),
                  "attribute 'a'"));
  // A program's own of a hidden name is another one than the document's.
  CHECK(MergedGroups("{}",
                     R"({"_hdf5": {"version": 1, "escaped": {"_LINKS": 5}, "attrs": {"_LINKS": {"type": "i4"}}}})",
                     R"({"_LINKS": [{"name": "s", "source": ".", "path": "/x", "kind": "soft"}]})") ==
        R"({"_LINKS":[{"name":"s","source":".","path":"/x","kind":"soft"}],)"
        R"("_hdf5":{"version":1,"attrs":{"_LINKS":{"type":"i4"}},"escaped":{"_LINKS":5}}})");
}

TEST_CASE("links are joined by name, and orders of creation without what either removed") {
  const std::string s = R"({"name": "s", "path": "/a"})", t = R"({"name": "t", "path": "/b"})",
                    u = R"({"name": "u", "path": "/c"})", other = R"({"name": "s", "path": "/d"})";
  const auto links = [](const std::string& list) { return R"({"_LINKS": [)" + list + "]}"; };
  CHECK(MergedGroups(links(s), links(s + "," + t), links(u)) ==
        zarr::DumpJson(*zarr::ParseJson(links(u + "," + t), ""), -1));
  CHECK(MergedGroups(links(s), "{}", links(s)) == "{}");
  CHECK(Conflicts(MergedGroups("{}", links(s), links(other)), "link 's' was changed"));
  const auto order = [](const std::string& names) { return R"({"_hdf5":{"version":1,"order":[)" + names + "]}}"; };
  CHECK(MergedGroups(order(R"("a","b","c")"), order(R"("a","c","x")"), order(R"("a","b","y")")) ==
        order(R"("a","y","x")"));
  // That of attributes is listed, or that of the document.
  const auto attributes = [](const std::string& how) { return R"({"_hdf5":{"version":1,"attr_order":)" + how + "}}"; };
  CHECK(MergedGroups(attributes(R"(["b"])"), attributes(R"(["b","x"])"), attributes(R"(["b","y"])")) ==
        attributes(R"(["b","y","x"])"));
  CHECK(MergedGroups(attributes("true"), attributes(R"(["x","a"])"), attributes(R"(["y","a"])")) ==
        attributes(R"(["y","a","x"])"));
  CHECK(MergedGroups(attributes(R"(["b"])"), attributes("true"), attributes(R"(["y","b"])")) ==
        attributes(R"(["y","b"])"));
}

TEST_CASE("the later time of change counts") {
  const auto times = [](int change) {
    return R"({"_hdf5":{"version":1,"times":{"change":)" + std::to_string(change) + R"(,"birth":5}}})";
  };
  CHECK(MergedGroups(times(10), times(20), times(30)) == times(30));
  CHECK(MergedGroups(times(10), times(30), times(20)) == times(30));
}

TEST_CASE("an extent is changed by one side, and an array stays the one it was") {
  const zarr::Node base = ArrayOf("{}");
  const auto shape = [&](std::vector<uint64_t> ours, std::vector<uint64_t> theirs) {
    const auto merged = MergeDocuments(&base, ArrayOf("{}", ours), ArrayOf("{}", theirs));
    return merged.ok() ? merged->array().shape : std::vector<uint64_t>();
  };
  CHECK(shape({4}, {6}) == std::vector<uint64_t>{6});
  CHECK(shape({6}, {4}) == std::vector<uint64_t>{6});
  CHECK(shape({6}, {6}) == std::vector<uint64_t>{6});
  CHECK(shape({6}, {8}).empty());
  CHECK(shape({4}, {4, 4}).empty());
  zarr::Node other = ArrayOf("{}");
  std::get<zarr::ArrayMetadata>(other.metadata).codecs.push_back({"gzip", Json()});
  CHECK(MergeDocuments(&base, base, other).status().code() == StatusCode::kChanged);
  CHECK(MergeDocuments(&base, base, GroupOf("{}")).status().code() == StatusCode::kChanged);
}

TEST_CASE("names of dimensions and what is attached to them are one thing") {
  zarr::Node base = ArrayOf("{}"), ours = ArrayOf(R"({"_hdf5": {"version": 1, "scales": [["/x"]]}, "k": 1})"),
             theirs = ArrayOf(R"({"j": 1})");
  CHECK(Merged(base, ours, theirs) == R"({"j":1,"k":1,"_hdf5":{"version":1,"scales":[["/x"]]}})");
  std::get<zarr::ArrayMetadata>(theirs.metadata).dimension_names = {"y"};
  CHECK(Conflicts(Merged(base, ours, theirs), "what the dimensions"));
  CHECK(Merged(base, ArrayOf(R"({"k": 1})"), theirs) == R"({"j":1,"k":1})");
}

TEST_CASE("groups that both made are joined, arrays are the first one's") {
  const auto joined = MergeDocuments(nullptr, GroupOf(R"({"a": 1})"), GroupOf(R"({"b": 2})"));
  REQUIRE(joined.ok());
  CHECK(zarr::DumpJson(joined->attributes(), -1) == R"({"b":2,"a":1})");
  CHECK(MergeDocuments(nullptr, ArrayOf("{}"), ArrayOf("{}")).status().code() == StatusCode::kAlreadyExists);
  CHECK(MergeDocuments(nullptr, GroupOf("{}"), ArrayOf("{}")).status().code() == StatusCode::kAlreadyExists);
  CHECK(MergeDocuments(nullptr, GroupOf("{}"), GroupOf(R"({"_hdf5": {"version": 1, "kind": "datatype"}})"))
            .status()
            .code() == StatusCode::kAlreadyExists);
}

}  // namespace
}  // namespace h5zarr::shadow
