#include "shadow/node_table.h"

#include "catch.h"

namespace h5zarr::shadow {
namespace {

NodePtr Add(NodeTable* table, uint64_t token, std::string path) {
  auto node = std::make_shared<NodeState>();
  node->token = token;
  node->path = std::move(path);
  table->Add(node);
  return node;
}

TEST_CASE("a node moves with all below it, and not with its neighbours") {
  NodeTable table;
  const NodePtr group = Add(&table, 1, "a"), child = Add(&table, 2, "a/x/y");
  // Names that sort between "a" and "a/x".
  const NodePtr before = Add(&table, 3, "a-b"), after = Add(&table, 4, "a0");
  CHECK(table.Move("a", "b/c").size() == 2);
  CHECK(group->path == "b/c");
  CHECK(child->path == "b/c/x/y");
  CHECK(child->node.path == child->path);
  CHECK(table.At("b/c/x/y") == child);
  CHECK(table.At("a") == nullptr);
  CHECK(table.At("a-b") == before);
  CHECK(table.At("a0") == after);
}

TEST_CASE("what is forgotten is found neither by token nor by path") {
  NodeTable table;
  Add(&table, 1, "a");
  Add(&table, 2, "a/b");
  const NodePtr other = Add(&table, 3, "ab");
  table.Forget("a");
  CHECK(table.Find(1) == nullptr);
  CHECK(table.Find(2) == nullptr);
  CHECK(table.AtOrBelow("a").empty());
  CHECK(table.Find(3) == other);
}

TEST_CASE("a token that is used again stands for the new node alone") {
  NodeTable table;
  Add(&table, 1, "old");
  const NodePtr now = Add(&table, 1, "new");
  CHECK(table.At("old") == nullptr);
  CHECK(table.Find(1) == now);
}

}  // namespace
}  // namespace h5zarr::shadow
