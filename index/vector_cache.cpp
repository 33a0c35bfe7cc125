#include "index/vector_cache.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <system_error>

#include <sqlite3.h>

namespace polygraph::corpus {
namespace fs = std::filesystem;
namespace {

static_assert(std::endian::native == std::endian::little, "vectors are stored as they lie in memory");

/// How long a build waits for another one that is writing, in milliseconds.
constexpr int busy_timeout_ms = 30'000;

constexpr const char* schema =
    "CREATE TABLE IF NOT EXISTS vectors (model TEXT NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL, "
    "PRIMARY KEY (model, text)) WITHOUT ROWID, STRICT";

}  // namespace

void VectorCache::DatabaseCloser::operator()(sqlite3* database) const { sqlite3_close(database); }
void VectorCache::StatementCloser::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

VectorCache::VectorCache() = default;
VectorCache::VectorCache(VectorCache&&) noexcept = default;
VectorCache& VectorCache::operator=(VectorCache&&) noexcept = default;
VectorCache::~VectorCache() {
  find_.reset();
  store_.reset();
}

Result<VectorCache> VectorCache::open(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail(ErrorCode::io, "the cache folder " + folder.string() + " cannot be made: " + error.message(), "cache");
  const fs::path file = folder / "vectors.sqlite3";
  VectorCache cache;
  const auto prepare = [&]() -> int {
    cache.find_.reset();
    cache.store_.reset();
    cache.database_.reset();
    sqlite3* raw = nullptr;
    int status = sqlite3_open_v2(file.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    cache.database_.reset(raw);
    if (status != SQLITE_OK) return status;
    sqlite3_busy_timeout(raw, busy_timeout_ms);
    // A build that is killed loses at most the batch it was in.
    for (const char* statement : {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", schema}) {
      status = sqlite3_exec(raw, statement, nullptr, nullptr, nullptr);
      if (status != SQLITE_OK) return status;
    }
    sqlite3_stmt* made = nullptr;
    status = sqlite3_prepare_v2(raw, "SELECT vector FROM vectors WHERE model = ?1 AND text = ?2", -1, &made, nullptr);
    cache.find_.reset(made);
    if (status != SQLITE_OK) return status;
    made = nullptr;
    status = sqlite3_prepare_v2(raw, "INSERT OR REPLACE INTO vectors (model, text, vector) VALUES (?1, ?2, ?3)", -1, &made, nullptr);
    cache.store_.reset(made);
    return status;
  };
  int status = prepare();
  if (status == SQLITE_NOTADB || status == SQLITE_CORRUPT || status == SQLITE_ERROR) {
    cache.find_.reset();
    cache.store_.reset();
    cache.database_.reset();
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(file.string() + suffix, error);
    cache.replaced_ = true;
    status = prepare();
  }
  if (status != SQLITE_OK) {
    return fail(ErrorCode::io, "the vector cache " + file.string() + " cannot be used: " + sqlite3_errstr(status), "cache");
  }
  return cache;
}

std::optional<std::vector<float>> VectorCache::find(std::string_view model, const text::Digest128& text, std::size_t dimensions) {
  sqlite3_stmt* query = find_.get();
  sqlite3_bind_text(query, 1, model.data(), static_cast<int>(model.size()), SQLITE_STATIC);
  sqlite3_bind_blob(query, 2, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
  std::optional<std::vector<float>> vector;
  if (sqlite3_step(query) == SQLITE_ROW &&
      static_cast<std::size_t>(sqlite3_column_bytes(query, 0)) == dimensions * sizeof(float)) {
    vector.emplace(dimensions);
    std::memcpy(vector->data(), sqlite3_column_blob(query, 0), dimensions * sizeof(float));
    for (const float value : *vector) {
      if (!std::isfinite(value)) {
        vector.reset();
        break;
      }
    }
  }
  sqlite3_reset(query);
  sqlite3_clear_bindings(query);
  return vector;
}

Result<void> VectorCache::store(std::string_view model, std::span<const Entry> entries) {
  const auto failed = [&](int status) {
    sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    return fail(ErrorCode::io, std::string("vectors cannot be stored in the cache: ") + sqlite3_errstr(status), "cache");
  };
  int status = sqlite3_exec(database_.get(), "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
  if (status != SQLITE_OK) return failed(status);
  for (const Entry& entry : entries) {
    sqlite3_stmt* insert = store_.get();
    sqlite3_bind_text(insert, 1, model.data(), static_cast<int>(model.size()), SQLITE_STATIC);
    sqlite3_bind_blob(insert, 2, entry.text.data(), static_cast<int>(entry.text.size()), SQLITE_STATIC);
    sqlite3_bind_blob(insert, 3, entry.vector.data(), static_cast<int>(entry.vector.size_bytes()), SQLITE_STATIC);
    status = sqlite3_step(insert);
    sqlite3_reset(insert);
    sqlite3_clear_bindings(insert);
    if (status != SQLITE_DONE) return failed(status);
  }
  status = sqlite3_exec(database_.get(), "COMMIT", nullptr, nullptr, nullptr);
  if (status != SQLITE_OK) return failed(status);
  return {};
}

}  // namespace polygraph::corpus
