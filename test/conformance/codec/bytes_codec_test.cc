// What every bytes → bytes codec promises (codec.h), on every configuration of codec_subjects.h.
#include <atomic>
#include <thread>

#include "catch.h"
#include "conformance/codec/codec_subjects.h"
#include "conformance/codec/guarded_buffer.h"

namespace h5zarr::codec {
namespace {

constexpr std::size_t kMostBytes = (1 << 20) + 64;

// Runs `function` on every subject.
template <typename Function>
void ForEachSubject(Function&& function) {
  for (const ByteSubject& subject : kByteSubjects) {
    INFO(subject.name << " " << subject.configuration);
    const std::unique_ptr<BytesCodec> codec = MakeSubject(subject);
    function(subject, *codec);
  }
}

// `bytes` as equal as Catch prints without drowning in it.
bool Same(ByteSpan a, ByteSpan b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

bool IsDataError(const Status& status) {
  return status.code() == StatusCode::kCorrupt || status.code() == StatusCode::kUnsupported;
}

// Headers are where sizes and offsets are: half of the damage goes there.
Bytes Damaged(Bytes encoded, std::mt19937& random) {
  const std::size_t reach = random() % 2 == 0 ? std::min<std::size_t>(40, encoded.size()) : encoded.size();
  for (unsigned flips = 1 + random() % 4; flips > 0; --flips) {
    encoded[random() % reach] = static_cast<std::byte>(random());
  }
  return encoded;
}

TEST_CASE("every byte codec gives back what it encoded, of any size") {
  GuardedBuffer in(2 * kMostBytes);
  GuardedBuffer out(kMostBytes);
  ForEachSubject([&](const ByteSubject& subject, const BytesCodec& codec) {
    for (const std::size_t elems : {0, 1, 2, 3, 15, 16, 17, 255, 256, 1000, 4097, 65537}) {
      const std::size_t bytes = elems * subject.unit_bytes;
      for (const Bytes& data : {Ramp(bytes), Noise(bytes, 5)}) {
        INFO(bytes << " bytes");
        const ByteSpan encoded = in.Put(EncodeWith(codec, data));
        const MutableByteSpan decoded = out.Last(bytes);
        const Status status = codec.Decode(encoded, decoded);
        INFO(status.message());
        REQUIRE(status.ok());
        REQUIRE(Same(decoded, data));
        Result<Buffer> unsized = codec.DecodeUnsized(encoded, bytes);
        INFO(unsized.status().message());
        REQUIRE(unsized.ok());
        REQUIRE(Same(*unsized, data));
      }
    }
  });
}

TEST_CASE("every byte codec takes a megabyte, of nothing but zeros too") {
  ForEachSubject([&](const ByteSubject& subject, const BytesCodec& codec) {
    const std::size_t bytes = (1 << 20) / subject.unit_bytes * subject.unit_bytes;
    for (const Bytes& data : {Ramp(bytes), Bytes(bytes)}) {
      const Bytes encoded = EncodeWith(codec, data);
      Bytes decoded(bytes);
      REQUIRE(codec.Decode(encoded, decoded).ok());
      REQUIRE(Same(decoded, data));
      Result<Buffer> unsized = codec.DecodeUnsized(encoded, UINT64_C(1) << 40);
      REQUIRE(unsized.ok());
      REQUIRE(Same(*unsized, data));
    }
  });
}

TEST_CASE("a byte codec that knows its encoded size encodes to it") {
  ForEachSubject([&](const ByteSubject& subject, const BytesCodec& codec) {
    for (const std::size_t elems : {0, 1, 33}) {
      const Bytes data = Ramp(elems * subject.unit_bytes);
      const std::optional<uint64_t> known = codec.EncodedBytes(data.size());
      if (known) CHECK(EncodeWith(codec, data).size() == *known);
    }
  });
}

TEST_CASE("a byte codec refuses a target that may be too small") {
  ForEachSubject([&](const ByteSubject& subject, const BytesCodec& codec) {
    const Bytes data = Ramp(100 * subject.unit_bytes);
    Bytes encoded(codec.MaxEncodedBytes(data.size()).value() - 1);
    Result<uint64_t> written = codec.Encode(data, encoded);
    REQUIRE(!written.ok());
    CHECK(written.status().code() == StatusCode::kInvalidArgument);
  });
}

TEST_CASE("a byte codec asked for an impossible size says so") {
  ForEachSubject([&](const ByteSubject& subject, const BytesCodec& codec) {
    if (subject.keeps_any_bytes) return;  // its size is the same
    Result<uint64_t> most = codec.MaxEncodedBytes(UINT64_MAX - 1);
    REQUIRE(!most.ok());
    CHECK(most.status().code() == StatusCode::kOutOfRange);
  });
}

TEST_CASE("truncated input is corrupt at every length") {
  GuardedBuffer in(8192);
  GuardedBuffer out(4096);
  ForEachSubject([&](const ByteSubject& subject, const BytesCodec& codec) {
    for (const Bytes& data : {Ramp(56 * 8), Noise(56 * 8, 11)}) {
      const Bytes encoded = EncodeWith(codec, data);
      for (std::size_t bytes = 0; bytes < encoded.size(); ++bytes) {
        INFO(bytes << " of " << encoded.size() << " bytes");
        const ByteSpan cut = in.Put(ByteSpan(encoded).first(bytes));
        CHECK(codec.Decode(cut, out.Last(data.size())).code() == StatusCode::kCorrupt);
        if (subject.keeps_any_bytes) continue;
        Result<Buffer> unsized = codec.DecodeUnsized(cut, 1 << 20);
        CHECK(unsized.status().code() == StatusCode::kCorrupt);
      }
    }
  });
}

TEST_CASE("bytes behind the encoded data are corrupt") {
  ForEachSubject([&](const ByteSubject&, const BytesCodec& codec) {
    const Bytes data = Ramp(56 * 8);
    Bytes encoded = EncodeWith(codec, data);
    encoded.push_back(std::byte{0x5a});
    Bytes decoded(data.size());
    CHECK(codec.Decode(encoded, decoded).code() == StatusCode::kCorrupt);
  });
}

TEST_CASE("a target of another size than the data is corrupt") {
  GuardedBuffer out(4096);
  ForEachSubject([&](const ByteSubject&, const BytesCodec& codec) {
    const Bytes data = Ramp(56 * 8);
    const Bytes encoded = EncodeWith(codec, data);
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, data.size() / 2, data.size() - 1, data.size() + 1, 2 * data.size()}) {
      INFO(bytes << " instead of " << data.size() << " bytes");
      CHECK(codec.Decode(encoded, out.Last(bytes)).code() == StatusCode::kCorrupt);
    }
    CHECK(codec.DecodeUnsized(encoded, data.size() - 1).status().code() == StatusCode::kCorrupt);
    CHECK(codec.DecodeUnsized(encoded, 0).status().code() == StatusCode::kCorrupt);
  });
}

TEST_CASE("random bytes are an error or decode within bounds") {
  GuardedBuffer in(4096);
  GuardedBuffer out(4096);
  ForEachSubject([&](const ByteSubject& subject, const BytesCodec& codec) {
    std::mt19937 random(3);
    for (unsigned round = 0; round < 400; ++round) {
      const ByteSpan garbage = in.Put(Noise(random() % 300, round));
      const MutableByteSpan decoded = out.Last(random() % 600);
      const Status status = codec.Decode(garbage, decoded);
      if (!status.ok()) CHECK(IsDataError(status));
      if (status.ok() && !subject.keeps_any_bytes) CHECK(decoded.size() < garbage.size());
      Result<Buffer> unsized = codec.DecodeUnsized(garbage, 1000);
      if (unsized.ok()) CHECK(unsized->size_bytes() <= 1000);
      if (!unsized.ok()) CHECK(IsDataError(unsized.status()));
    }
  });
}

TEST_CASE("damaged data are an error or decode within bounds") {
  GuardedBuffer in(16384);
  GuardedBuffer out(8192);
  ForEachSubject([&](const ByteSubject&, const BytesCodec& codec) {
    std::mt19937 random(17);
    for (const Bytes& data : {Ramp(56), Ramp(56 * 60), Noise(56 * 20, 1)}) {
      const Bytes encoded = EncodeWith(codec, data);
      for (int round = 0; round < 300; ++round) {
        const ByteSpan input = in.Put(Damaged(encoded, random));
        const Status status = codec.Decode(input, out.Last(data.size()));
        if (!status.ok()) CHECK(IsDataError(status));
        Result<Buffer> unsized = codec.DecodeUnsized(input, 8000);
        if (unsized.ok()) CHECK(unsized->size_bytes() <= 8000);
      }
    }
  });
}

// Begins and sizes of parts of so many bytes.
std::vector<std::pair<std::size_t, std::size_t>> PartsOf(std::size_t bytes, bool from_front) {
  std::vector<std::pair<std::size_t, std::size_t>> parts;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, bytes / 7, bytes / 2, bytes}) {
    parts.emplace_back(0, size);
    if (from_front) continue;
    parts.emplace_back((bytes - size) / 3, size);
    parts.emplace_back(bytes - size, size);
  }
  return parts;
}

// Runs `function` on every subject that decodes parts.
template <typename Function>
void ForEachPartialSubject(Function&& function) {
  int subjects = 0;
  ForEachSubject([&](const ByteSubject&, const BytesCodec& codec) {
    if (codec.partial_decoding().slowdown == 0) return;
    ++subjects;
    function(codec, codec.partial_decoding().from_front);
  });
  CHECK(subjects >= 10);
}

TEST_CASE("a part of a chunk is what the whole has there") {
  GuardedBuffer in(2 * kMostBytes);
  GuardedBuffer out(kMostBytes);
  ForEachPartialSubject([&](const BytesCodec& codec, bool from_front) {
    for (const std::size_t bytes : {1, 17, 4099, 300'007, 1 << 20}) {
      for (const Bytes& data : {Ramp(bytes), Noise(bytes, 5)}) {
        const ByteSpan encoded = in.Put(EncodeWith(codec, data));
        for (const auto& [begin, size] : PartsOf(bytes, from_front)) {
          INFO(size << " from " << begin << " of " << bytes << " bytes");
          const MutableByteSpan part = out.Last(size);
          const Status status = codec.DecodePart(encoded, bytes, begin, part);
          INFO(status.message());
          REQUIRE(status.ok());
          REQUIRE(Same(part, ByteSpan(data).subspan(begin, size)));
        }
      }
    }
  });
}

TEST_CASE("a part decodes whatever stands behind it") {
  const Bytes data = Noise(1 << 20, 3);
  for (const char* name : {"gzip", "zlib", "zstd", "lz4", "blosc"}) {
    INFO(name);
    const auto codec = MakeSubject<BytesCodec>(name, "{}", ChunkSpec{DType::Uint(1), {1}});
    Bytes encoded = EncodeWith(*codec, data);
    for (std::size_t i = encoded.size() / 2; i < encoded.size(); ++i) encoded[i] ^= std::byte{0x5a};
    Bytes part(60'000);
    REQUIRE(codec->DecodePart(encoded, data.size(), 0, part).ok());
    CHECK(Same(part, ByteSpan(data).first(part.size())));
  }
}

TEST_CASE("a part of data that break off is corrupt") {
  const Bytes data = Noise(1 << 20, 3);
  ForEachPartialSubject([&](const BytesCodec& codec, bool) {
    const Bytes encoded = EncodeWith(codec, data);
    Bytes part(data.size() / 2);
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{5}, std::size_t{1000}, encoded.size() / 3}) {
      INFO(bytes << " of " << encoded.size() << " bytes");
      const ByteSpan cut = ByteSpan(encoded).first(bytes);
      CHECK(codec.DecodePart(cut, data.size(), 0, part).code() == StatusCode::kCorrupt);
    }
    Bytes beyond(data.size() + 1);
    CHECK(codec.DecodePart(encoded, beyond.size(), 0, beyond).code() == StatusCode::kCorrupt);
  });
}

TEST_CASE("a part of damaged data is an error or decodes within bounds") {
  GuardedBuffer in(16384);
  GuardedBuffer out(8192);
  ForEachPartialSubject([&](const BytesCodec& codec, bool from_front) {
    std::mt19937 random(23);
    for (const Bytes& data : {Ramp(56), Ramp(56 * 60), Noise(56 * 20, 1)}) {
      const Bytes encoded = EncodeWith(codec, data);
      for (int round = 0; round < 300; ++round) {
        const ByteSpan input = in.Put(Damaged(encoded, random));
        const std::size_t begin = from_front ? 0 : random() % data.size();
        const std::size_t size = random() % (data.size() - begin);
        const Status status = codec.DecodePart(input, data.size(), begin, out.Last(size));
        if (!status.ok()) CHECK(IsDataError(status));
      }
    }
  });
}

TEST_CASE("a byte codec may be used by many threads at once") {
  ForEachSubject([&](const ByteSubject& subject, const BytesCodec& codec) {
    std::atomic<int> failures = 0;
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (unsigned round = 0; round < 8; ++round) {
          const std::size_t bytes = (100 + 37 * thread + round) * subject.unit_bytes;
          const Bytes data = round % 2 == 0 ? Ramp(bytes) : Noise(bytes, thread);
          const Bytes encoded = EncodeWith(codec, data);
          Bytes decoded(bytes);
          if (!codec.Decode(encoded, decoded).ok() || decoded != data) ++failures;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(failures == 0);
  });
}

}  // namespace
}  // namespace h5zarr::codec
