#include "tools/mirror_report.h"

#include <cstdio>

#include "mirror/verify.h"

namespace h5zarr::tools {

std::string CountsText(const mirror::RunCounts& counts) {
  return std::to_string(counts.chunks_added) + " new chunks, " + std::to_string(counts.chunk_bytes_added) + " bytes; " +
         std::to_string(counts.written.objects + counts.refs_written) + " objects written";
}

Status FinishMirror(Store* store, const Words& words, const mirror::RunCounts& counts, zarr::Json json,
                    const std::string& text) {
  if (words.has("verify")) H5ZARR_RETURN_IF_ERROR(mirror::VerifyRepository(store).status());
  if (words.has("json")) {
    json["chunks_added"] = counts.chunks_added;
    json["chunk_bytes_added"] = counts.chunk_bytes_added;
    json["objects_written"] = counts.written.objects + counts.refs_written;
    json["bytes_written"] = counts.written.bytes;
    std::printf("%s\n", zarr::DumpJson(json, -1).c_str());
  } else if (!words.has("quiet")) {
    std::fputs(text.c_str(), stdout);
  }
  return OkStatus();
}

}  // namespace h5zarr::tools
