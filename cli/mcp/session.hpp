// One client's session of the Model Context Protocol (https://modelcontextprotocol.io/specification), whatever carries it:
// lines go in, lines come out.
//
// Handshake, ping, lists and resources are answered at once, from the thread that hands in the line. Calls of tools run on
// threads of the session's own, so that a ping or a cancellation arrives while a call runs. A call that was cancelled gets
// no answer (2025-06-18, utilities/cancellation).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/mcp/json_rpc.hpp"

namespace polygraph::cli::mcp {

/// Published revisions that begin with `initialize`, oldest first.
enum class Revision : std::uint8_t { r2024_11_05, r2025_03_26, r2025_06_18, r2025_11_25 };
std::string_view name(Revision revision) noexcept;
/// The revision that a client asked for, else the newest.
Revision negotiated(std::string_view asked) noexcept;

/// A call as the tool sees it.
class Call {
 public:
  virtual ~Call() = default;
  /// Whether nobody waits for the result any more: the tool is to end soon, with whatever.
  virtual bool cancelled() const = 0;
  /// Tells the client, if it asked to be told, what goes on. Nothing after the tool returned.
  virtual void progress(std::string_view message) = 0;
};

struct ToolResult {
  std::string text;
  Json structured;        ///< follows the tool's output schema; null where there is none (an error)
  bool is_error = false;  ///< the tool failed, which the model is to see
};

struct Tool {
  std::string name, title, description;
  Json input_schema, output_schema;
  /// `arguments` follow the input schema. Several calls run at once.
  std::function<ToolResult(const Json& arguments, Call& call)> run;
  bool open_world = false;  ///< it asks somebody beyond this machine
};

/// What resources/list, resources/templates/list and resources/read serve.
class Resources {
 public:
  virtual ~Resources() = default;
  virtual std::size_t count() const = 0;
  virtual Json describe(std::size_t number) const = 0;
  virtual Json templates() const = 0;
  /// The `contents` of a resource, or nothing where there is none of this URI.
  virtual std::optional<Json> read(std::string_view uri) const = 0;
};

struct Server {
  std::string name, title, version, instructions;
  std::vector<Tool> tools;
  std::shared_ptr<const Resources> resources;
};

struct SessionOptions {
  unsigned threads = 4;           ///< calls at once
  std::size_t most_waiting = 64;  ///< calls that wait for a thread; one more is told that the server is busy
  std::size_t page = 100;         ///< resources of one answer
};

class Session {
 public:
  /// Takes one line, without its end. Called by one thread at a time, several over time.
  using Send = std::function<void(const std::string& line)>;

  Session(Server server, Send send, SessionOptions options = {});
  /// As stop().
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// A line from the client, without its end. Blank lines are passed over.
  void receive(std::string_view line);
  /// A line that was too long to be kept.
  void receive_too_long(std::size_t most_bytes);

  /// Waits for the calls that were asked for, at most until `given_up` says so. Nothing may be received any more.
  void finish(const std::function<bool()>& given_up);
  /// Cancels all calls and waits for their end.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace polygraph::cli::mcp
