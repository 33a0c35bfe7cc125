// A language model's endpoint that does what it is told, over real sockets and real TLS: in a test's own process, or as
// the program `scripted_upstream` for tests of other programs.
//
//     scripted_upstream [--certificate good|expired|other_host|unknown_ca] [--ca-file FILE]
//
// prints one line, `{"url": "https://localhost:PORT/v1", "plain_url": "http://127.0.0.1:PORT/v1", "control":
// "http://127.0.0.1:PORT/control", "ca_file": FILE, "pid": N}`, and runs until its stdin ends or a signal comes. A program
// that trusts the system's bundle is made to trust the CA by SSL_CERT_FILE=FILE.
//
// It speaks OpenAI's and Groq's API (POST to a path that ends in /chat/completions), Anthropic's (/v1/messages), Gemini's
// (:generateContent, :streamGenerateContent) and Ollama's (/api/chat), each with its own replies, streams and refusals, and
// lists two models. A call does, in this order: what `next` has queued, what
// `[[NAME]]` or `[[NAME:ARGUMENT]]` in its last user message says, what `always` says, `answer`.
//
//   answer               a sound reply, streamed word by word where `stream` is true. With a schema that has `relevant` it
//                        is a grade (naming the ids `id="…"` of the message, or the schema's enum), with `query` a
//                        rewrite, with a <reference> in the message a judge's grade (5 where the answer holds the reference answer, otherwise 1),
//                        for another judge's prompt a judgement (judging_model.hpp), otherwise a sentence that cites the first of those ids
//   obey                 the same, where a judge's prompt is answered with what the judged text demands
//   text:T               the same with T as its text
//   length               the same, cut by the token limit
//   delay:MS             the same after MS; slow_stream:MS: MS between the words; trickle: byte by byte
//   chunked              the same in chunks; chunk_extensions: with extensions; close_delimited: ends with the connection
//   interim              the same after a 103; close: the same with Connection: close
//   close_idle           the same, and the connection is closed without having said so
//   unasked              the same, and a second answer with it that nobody asked for
//   late_end             a stream whose last chunk follows its [DONE] in a packet of its own; no_end: never
//   spent:requests|tokens  the same; the rate-limit fields say that nothing remains
//   no_usage, wrong_usage, huge_usage, usage_in_x_groq
//   stall, stall_head, stall_body  nothing more is sent until the client leaves
//   cut, cut_head, cut_body        closed before, within the head, within the body (also of a stream)
//   cut_tls              all of a close-delimited body, then the end without close_notify
//   no_done, text_after_finish, error_event, half_event   unsound streams
//   both_framings, two_lengths, listed_length, wrong_length, odd_coding, folded, bare_lf, switching   unsound heads
//   junk, not_json, no_choices, refusal, tool_call, long_extension
//   gigantic             a body without end; gigantic_length: announces 2 GB
//   limited_rpm, limited_rpd, limited_tpm, limited_tpd, limited   429 with the API's message (Groq's with its
//                        advertising), [:SECONDS] retry-after; with a fraction of a second the windows are free by then too
//   too_large, too_large_429, early_413 (before the body is read), context_length
//   status:N             that status with an error body; status_cut:N: with half of one; redirect
//   insufficient_quota   429 of an account without money; bad_key_400: Gemini's way to refuse a key
//   echo_key             401 whose message repeats the key; echo_key_400; answer_key: a reply that repeats it
//
// Control, on the plain port: GET /control/counts (Counts as JSON, and "behaviours": {NAME: calls}), GET /control/requests
// (an array of {"head", "body"}), POST /control/next (JSON array), POST /control/always (JSON string), POST /control/reset.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "certificates.hpp"

namespace polygraph::proxy::testing {

struct ScriptedOptions {
  CertificateKind certificate = CertificateKind::good;
  bool old_tls = false;  ///< speaks nothing newer than TLS 1.1
  std::string ca_file;   ///< where to write the CA; empty: a new file in the temporary folder, removed at the end
};

class ScriptedUpstream {
 public:
  struct Counts {
    std::uint64_t calls = 0;
    std::uint64_t connections = 0;   ///< that carried a call or tried a handshake
    std::uint64_t handshakes = 0;    ///< that succeeded
    std::uint64_t waiting = 0;       ///< calls that stand still now
    std::uint64_t left = 0;          ///< calls whose client closed before it had everything
    std::map<std::string, std::uint64_t> behaviours;
  };
  struct Request {
    std::string head, body;
  };

  explicit ScriptedUpstream(ScriptedOptions options = {});
  ~ScriptedUpstream();
  ScriptedUpstream(const ScriptedUpstream&) = delete;
  ScriptedUpstream& operator=(const ScriptedUpstream&) = delete;

  std::string url() const;
  std::string plain_url() const;
  /// The same without a path, for the APIs whose targets hold their own.
  std::string root_url() const;
  std::string plain_root_url() const;
  std::uint16_t port() const;
  const std::string& ca_file() const;

  void next(std::vector<std::string> behaviours);
  void always(std::string behaviour);
  Counts counts() const;
  std::vector<Request> requests() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace polygraph::proxy::testing
