// Store::ReadBatch over HTTP.
//
// Within store/ only.
#ifndef H5ZARR_STORE_HTTP_READ_H_
#define H5ZARR_STORE_HTTP_READ_H_

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "store/cached_fetch.h"
#include "store/http_fetch.h"
#include "store/http_session.h"
#include "store/store.h"

namespace h5zarr {

// The object behind each key of a batch.
using UrlOfKey = std::function<Url(std::string_view key)>;

// Reads `ops` as Store::ReadBatch says: near ranges of an object as one request, large ones as several,
// many requests at once, sinks on the executor's threads. The first answer of an object pins its state
// for the batch's other requests.
Status ReadHttpBatch(const UrlOfKey& url_of, const std::shared_ptr<HttpSession>& session, std::span<ReadOp> ops,
                     const ReadSink& sink, Executor& executor);

// One fetch, waited for. `owner` owns the outcome's bytes.
Result<HttpFetch::Outcome> FetchNow(HttpFetch::Query query, const std::shared_ptr<HttpSession>& session,
                                    std::shared_ptr<CachedFetch>* owner);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_HTTP_READ_H_
