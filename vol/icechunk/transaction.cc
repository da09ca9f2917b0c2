#include "icechunk/transaction.h"

#include "icechunk/envelope.h"
#include "icechunk/sealed.h"
#include "icechunk/verified.h"

namespace h5zarr::icechunk {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
using FlatNodes = flatbuffers::Vector<const fb::Id8*>;

flatbuffers::Offset<FlatNodes> EncodeNodes(Builder& builder, const std::set<NodeId>& nodes) {
  std::vector<fb::Id8> flat;
  for (const NodeId& node : nodes) flat.push_back(ToFlat(node));
  return builder.CreateVectorOfStructs(flat);
}

std::set<NodeId> DecodeNodes(const FlatNodes& flat) {
  std::set<NodeId> nodes;
  for (const fb::Id8* node : flat) nodes.insert(FromFlat(*node));
  return nodes;
}

}  // namespace

Result<Buffer> EncodeTransaction(const ObjectId& id, const Transaction& transaction) {
  Builder builder(1 << 12);
  std::vector<flatbuffers::Offset<fb::ChangedChunks>> changed;
  for (const auto& [node, indexes] : transaction.updated_chunks) {
    std::vector<flatbuffers::Offset<fb::ChunkIndex>> chunks;
    for (const std::vector<uint32_t>& index : indexes) {
      chunks.push_back(fb::CreateChunkIndex(builder, builder.CreateVector(index)));
    }
    const auto flat_chunks = builder.CreateVector(chunks);
    const fb::Id8 node_id = ToFlat(node);
    changed.push_back(fb::CreateChangedChunks(builder, &node_id, flat_chunks));
  }
  const auto flat_changed = builder.CreateVector(changed);
  const auto new_groups = EncodeNodes(builder, transaction.new_groups);
  const auto new_arrays = EncodeNodes(builder, transaction.new_arrays);
  const auto deleted_groups = EncodeNodes(builder, transaction.deleted_groups);
  const auto deleted_arrays = EncodeNodes(builder, transaction.deleted_arrays);
  const auto updated_arrays = EncodeNodes(builder, transaction.updated_arrays);
  const auto updated_groups = EncodeNodes(builder, transaction.updated_groups);
  const fb::Id12 flat_id = ToFlat(id);
  builder.Finish(fb::CreateTransactionLog(builder, &flat_id, new_groups, new_arrays, deleted_groups, deleted_arrays,
                                          updated_arrays, updated_groups, flat_changed));
  return MakeEnvelope(FileType::kTransactionLog, BytesOf(builder));
}

Result<Transaction> DecodeTransaction(std::string_view key, ByteSpan file) {
  H5ZARR_ASSIGN_OR_RETURN(const Payload payload, OpenEnvelope(key, file, FileType::kTransactionLog));
  H5ZARR_ASSIGN_OR_RETURN(const fb::TransactionLog* flat, VerifiedRoot<fb::TransactionLog>(key, payload.bytes));
  Transaction transaction;
  transaction.new_groups = DecodeNodes(*flat->new_groups());
  transaction.new_arrays = DecodeNodes(*flat->new_arrays());
  transaction.deleted_groups = DecodeNodes(*flat->deleted_groups());
  transaction.deleted_arrays = DecodeNodes(*flat->deleted_arrays());
  transaction.updated_groups = DecodeNodes(*flat->updated_groups());
  transaction.updated_arrays = DecodeNodes(*flat->updated_arrays());
  for (const fb::ChangedChunks* array : *flat->updated_chunks()) {
    auto& indexes = transaction.updated_chunks[FromFlat(*array->node_id())];
    for (const fb::ChunkIndex* chunk : *array->chunks()) {
      indexes.emplace(chunk->coords()->begin(), chunk->coords()->end());
    }
  }
  return transaction;
}

}  // namespace h5zarr::icechunk
