// What every array → array codec promises (codec.h).
#include <atomic>
#include <thread>

#include "catch.h"
#include "conformance/codec/codec_subjects.h"
#include "conformance/codec/guarded_buffer.h"

namespace h5zarr::codec {
namespace {

template <typename Function>
void ForEachSubject(Function&& function) {
  for (const ArraySubject& subject : ArraySubjects()) {
    for (const uint64_t elems : {0, 1, 7, 511, 512, 513, 2000}) {
      INFO(subject.name << " " << subject.configuration << " of " << elems << " elements");
      const ChunkSpec spec{subject.dtype, {elems}};
      const auto codec = MakeSubject<ArrayCodec>(subject.name, subject.configuration, spec);
      function(*codec);
    }
  }
  for (const char* order : {R"({"order": [0, 1, 2]})", R"({"order": [2, 0, 1]})", R"({"order": [2, 1, 0]})"}) {
    INFO("transpose " << order);
    const ChunkSpec spec{DType::Uint(4), {3, 5, 7}};
    function(*MakeSubject<ArrayCodec>("transpose", order, spec));
  }
}

// Elements every subject encodes without loss.
Bytes Elements(const ChunkSpec& spec) {
  Bytes data = Ramp(spec.size_bytes());
  if (spec.dtype.kind == DType::Kind::kBool) {
    for (std::byte& byte : data) byte &= std::byte{1};
  }
  return data;
}

TEST_CASE("every array codec gives back what it encoded") {
  GuardedBuffer in(65536);
  GuardedBuffer out(65536);
  ForEachSubject([&](const ArrayCodec& codec) {
    const Bytes data = Elements(codec.decoded_spec());
    const MutableByteSpan encoded = in.Last(codec.encoded_spec().size_bytes());
    REQUIRE(codec.Encode(data, encoded).ok());
    const MutableByteSpan decoded = out.Last(data.size());
    const Status status = codec.Decode(encoded, decoded);
    INFO(status.message());
    REQUIRE(status.ok());
    CHECK(std::equal(data.begin(), data.end(), decoded.begin()));
  });
}

TEST_CASE("an array codec refuses spans of another size than its specs") {
  ForEachSubject([&](const ArrayCodec& codec) {
    Bytes decoded(codec.decoded_spec().size_bytes());
    Bytes encoded(codec.encoded_spec().size_bytes());
    Bytes longer_decoded(decoded.size() + 1);
    Bytes longer_encoded(encoded.size() + 1);
    CHECK(codec.Decode(longer_encoded, decoded).code() == StatusCode::kCorrupt);
    CHECK(codec.Decode(encoded, longer_decoded).code() == StatusCode::kCorrupt);
    CHECK(codec.Encode(longer_decoded, encoded).code() == StatusCode::kInvalidArgument);
    CHECK(codec.Encode(decoded, longer_encoded).code() == StatusCode::kInvalidArgument);
    if (encoded.empty()) return;
    const ByteSpan shorter = ByteSpan(encoded).first(encoded.size() - 1);
    CHECK(codec.Decode(shorter, decoded).code() == StatusCode::kCorrupt);
  });
}

TEST_CASE("an array codec decodes any bytes of the right size or calls them corrupt") {
  GuardedBuffer in(65536);
  GuardedBuffer out(65536);
  ForEachSubject([&](const ArrayCodec& codec) {
    for (unsigned seed = 0; seed < 5; ++seed) {
      const ByteSpan garbage = in.Put(Noise(codec.encoded_spec().size_bytes(), seed));
      const Status status = codec.Decode(garbage, out.Last(codec.decoded_spec().size_bytes()));
      if (!status.ok()) CHECK(status.code() == StatusCode::kCorrupt);
    }
  });
}

TEST_CASE("an array codec may be used by many threads at once") {
  ForEachSubject([&](const ArrayCodec& codec) {
    const Bytes data = Elements(codec.decoded_spec());
    std::atomic<int> failures = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread) {
      threads.emplace_back([&] {
        Bytes encoded(codec.encoded_spec().size_bytes());
        Bytes decoded(data.size());
        if (!codec.Encode(data, encoded).ok() || !codec.Decode(encoded, decoded).ok() || decoded != data) {
          ++failures;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(failures == 0);
  });
}

}  // namespace
}  // namespace h5zarr::codec
