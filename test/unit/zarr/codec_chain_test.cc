#include "zarr/codec_chain.h"

#include "base/nd_copy.h"
#include "unit/zarr/array_fixture.h"
#include "zarr/sharding.h"

namespace h5zarr::zarr::test {
namespace {

CodecChain Chain(DType dtype, std::vector<uint64_t> shape, std::vector<CodecSpec> codecs, FillValue fill = {}) {
  return Value(CodecChain::Make(dtype, std::move(shape), codecs, fill));
}

StatusCode CodeOf(DType dtype, std::vector<uint64_t> shape, std::vector<CodecSpec> codecs) {
  return CodecChain::Make(dtype, std::move(shape), codecs).status().code();
}

CodecSpec Transpose(std::vector<uint64_t> order) { return {"transpose", Json{{"order", order}}}; }

ByteSpan Bytes(const std::vector<uint16_t>& values) {
  return {reinterpret_cast<const std::byte*>(values.data()), values.size() * 2};
}

std::vector<uint16_t> Numbers(ByteSpan bytes) {
  std::vector<uint16_t> values(bytes.size() / 2);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace

TEST_CASE("a chain of nothing but bytes is an identity") {
  const CodecChain chain = Chain(DType::Uint(2), {2, 3}, {{"bytes", Json{{"endian", "big"}}}});
  CHECK(chain.is_identity());
  CHECK(chain.EncodedBytes() == 12);
  CHECK(chain.decoded_bytes() == 12);
  CHECK(chain.sharding() == nullptr);
}

TEST_CASE("leading transposes become the order of a decoded chunk") {
  const CodecChain chain = Chain(DType::Uint(2), {2, 3, 4}, {Transpose({2, 0, 1}), Transpose({1, 2, 0})});
  CHECK(chain.is_identity());
  CHECK(std::vector<uint64_t>(chain.order().begin(), chain.order().end()) == std::vector<uint64_t>{0, 1, 2});
  const CodecChain fortran = Chain(DType::Uint(2), {2, 3}, {Transpose({1, 0})});
  CHECK(std::vector<int64_t>(fortran.strides_bytes().begin(), fortran.strides_bytes().end()) ==
        std::vector<int64_t>{2, 4});
}

TEST_CASE("what was encoded decodes to the same elements") {
  const std::vector<std::vector<CodecSpec>> chains = {
      {Gzip()},
      {{"crc32c", Json()}},
      {Gzip(), {"crc32c", Json()}},
      {{"numcodecs.shuffle", Json{{"elementsize", 2}}}, {"numcodecs.zlib", Json{{"level", 1}}}},
      {{"numcodecs.delta", Json{{"dtype", "<u2"}}}, {"zstd", Json{{"level", 1}, {"checksum", true}}}},
      {{"numcodecs.delta", Json{{"dtype", "<u2"}}}, Transpose({1, 0})},
      {Sharded({2, 2}, {Gzip()})},
      {Sharded({2, 2}, {{"bytes", Json()}}, "start")},
      {Sharded({2, 2}, {Sharded({1, 2}, {Gzip()})})},
      {Sharded({2, 2}), Gzip()},
      {Transpose({1, 0}), Sharded({3, 2}, {Transpose({1, 0}), Gzip()})},
      {Sharded({2, 2}, {}, "end", {{"bytes", Json{{"endian", "big"}}}})},
      {Sharded({2, 2}, {}, "end", {{"bytes", Json()}, {"numcodecs.crc32", Json()}, {"crc32c", Json()}})},
  };
  for (const auto& codecs : chains) {
    INFO(CodecsJson(codecs).dump());
    const CodecChain chain = Chain(DType::Uint(2), {4, 6}, codecs);
    const std::vector<uint16_t> values = Iota<uint16_t>(24, 100);
    const Buffer encoded = Value(chain.Encode(Bytes(values)));
    CHECK(Numbers(Value(chain.Decode(encoded.span())).elems.span()) == values);
    if (chain.EncodedBytes()) CHECK(*chain.EncodedBytes() == encoded.size_bytes());
    // A truncated chunk never decodes.
    CHECK_FALSE(chain.Decode(encoded.span().first(encoded.size_bytes() - 1)).ok());
    CHECK_FALSE(chain.Decode({}).ok());
  }
}

TEST_CASE("a shard within an object is found by its index only where no codec follows") {
  CHECK(Chain(DType::Uint(2), {4}, {Sharded({2})}).sharding() != nullptr);
  CHECK(Chain(DType::Uint(2), {4}, {Sharded({2}), Gzip()}).sharding() == nullptr);
}

TEST_CASE("inner chunks of nothing but fill are left out of an encoded shard") {
  FillValue fill{true, {std::byte{7}, std::byte{0}}, {}};
  const CodecChain chain = Chain(DType::Uint(2), {6}, {Sharded({2}, {{"bytes", Json()}})}, fill);
  const Buffer shard = Value(chain.Encode(Bytes({7, 7, 1, 2, 7, 7})));
  CHECK(shard.size_bytes() == 4 + 3 * 16 + 4);
  CHECK(Numbers(Value(chain.Decode(shard.span())).elems.span()) == std::vector<uint16_t>{7, 7, 1, 2, 7, 7});
}

// A fill value of `values`, over and over.
FillValue Block(const std::vector<uint16_t>& values) {
  const ByteSpan bytes = Bytes(values);
  return {true, {std::byte{0}, std::byte{0}}, {bytes.begin(), bytes.end()}};
}

TEST_CASE("a block of fill begins where a chunk's last dimensions begin") {
  const CodecChain chain = Chain(DType::Uint(2), {4, 2, 3}, {}, Block({1, 2, 3, 4, 5, 6}));
  REQUIRE(chain.fill_differs());
  // Rows 1 and 3, of these the second half but for its first element, into memory in another order.
  std::vector<uint16_t> memory(4, 0);
  const uint64_t counts[] = {2, 2};
  const int64_t to[] = {2, 4}, within[] = {2 * 12, 2};
  chain.Fill(reinterpret_cast<std::byte*>(memory.data()), to, counts, 12 + 8, within);
  CHECK(memory == std::vector<uint16_t>{5, 5, 6, 6});
}

TEST_CASE("inner chunks of a block of fill are stored, and read where they are missing") {
  const std::vector<CodecSpec> sharded = {Sharded({1, 2}, {{"bytes", Json()}})};
  const CodecChain chain = Chain(DType::Uint(2), {3, 2}, sharded, Block({7, 8}));
  const Buffer whole = Value(chain.Encode(Bytes({7, 8, 1, 2, 7, 8})));
  CHECK(whole.size_bytes() == 3 * 4 + 3 * 16 + 4);
  // Written by whoever takes 0 for fill.
  const CodecChain other = Chain(DType::Uint(2), {3, 2}, sharded);
  const Buffer sparse = Value(other.Encode(Bytes({0, 0, 1, 2, 0, 0})));
  CHECK(Numbers(Value(chain.Decode(sparse.span())).elems.span()) == std::vector<uint16_t>{7, 8, 1, 2, 7, 8});
}

TEST_CASE("a block of fill that is not a chunk's last dimensions is refused") {
  for (const std::vector<uint64_t>& shape : {std::vector<uint64_t>{4, 3}, {3, 1}, {}}) {
    CHECK(CodecChain::Make(DType::Uint(2), shape, {}, Block({1, 2})).status().code() == StatusCode::kInvalidArgument);
  }
  CHECK(CodecChain::Make(DType::Uint(2), {3, 2}, {Transpose({1, 0})}, Block({1, 2})).status().code() ==
        StatusCode::kInvalidArgument);
  CHECK(CodecChain::Make(DType::Uint(2), {4}, {Sharded({1})}, Block({1, 2, 3, 4})).status().code() ==
        StatusCode::kInvalidArgument);
}

TEST_CASE("text of variable length survives sharding within sharding") {
  const CodecChain chain = Chain(DType::String(), {4}, {Sharded({2}, {Sharded({1}, {{"vlen-utf8", Json()}, Gzip()})})},
                                 FillValue{true, {std::byte{'x'}}, {}});
  const std::string words[] = {"", "x", "three", "a longer word than the others"};
  std::vector<VlenRef> refs;
  for (const std::string& word : words) {
    refs.push_back({word.size(), reinterpret_cast<const std::byte*>(word.data())});
  }
  const ByteSpan elems(reinterpret_cast<const std::byte*>(refs.data()), sizeof(VlenRef) * 4);
  const Buffer encoded = Value(chain.Encode(elems));
  const DecodedChunk decoded = Value(chain.Decode(encoded.span()));
  for (int i = 0; i < 4; ++i) {
    VlenRef ref;
    std::memcpy(&ref, decoded.elems.data() + i * sizeof(VlenRef), sizeof(ref));
    CHECK(std::string(reinterpret_cast<const char*>(ref.data), ref.size_bytes) == words[i]);
  }
}

TEST_CASE("chains in a wrong order are refused") {
  CHECK(CodeOf(DType::Uint(2), {4}, {Gzip(), Transpose({0})}) == StatusCode::kInvalidArgument);
  CHECK(CodeOf(DType::Uint(2), {4}, {Gzip(), Sharded({2})}) == StatusCode::kInvalidArgument);
  CHECK(CodeOf(DType::Uint(2), {4}, {Sharded({2}), Sharded({2})}) == StatusCode::kInvalidArgument);
  CHECK(CodeOf(DType::String(), {4}, {Gzip()}) == StatusCode::kInvalidArgument);
  CHECK(CodeOf(DType::Uint(2), {4}, {{"vlen-utf8", Json()}}) == StatusCode::kInvalidArgument);
  CHECK(CodeOf(DType::Uint(2), {4}, {{"no-such-codec", Json()}}) == StatusCode::kUnsupported);
}

TEST_CASE("shardings that make no sense are refused") {
  CHECK(CodeOf(DType::Uint(2), {4}, {Sharded({3})}) == StatusCode::kInvalidArgument);
  CHECK(CodeOf(DType::Uint(2), {4}, {Sharded({0})}) == StatusCode::kInvalidArgument);
  CHECK(CodeOf(DType::Uint(2), {4}, {Sharded({2, 2})}) == StatusCode::kInvalidArgument);
  CHECK(CodeOf(DType::Uint(2), {4}, {Sharded({2}, {}, "middle")}) == StatusCode::kInvalidArgument);
  CHECK(CodeOf(DType::Uint(2), {4}, {Sharded({2}, {}, "end", {{"bytes", Json()}, Gzip()})}) ==
        StatusCode::kUnsupported);
}

TEST_CASE("an index that points over itself is corrupt") {
  const CodecChain chain = Chain(DType::Uint(2), {4}, {Sharded({2}, {}, "end", {{"bytes", Json()}})});
  Buffer shard = Value(chain.Encode(Bytes({1, 2, 3, 4})));
  CHECK(chain.Decode(shard.span()).ok());
  const uint64_t offset = 6;  // of the second inner chunk: 2 of its 4 bytes are index
  std::memcpy(shard.data() + 8 + 16, &offset, 8);
  CHECK(chain.Decode(shard.span()).status().code() == StatusCode::kCorrupt);
}

}  // namespace h5zarr::zarr::test
