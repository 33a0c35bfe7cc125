// What the server refuses for its form: each is answered, the connection ends, and what was pipelined behind it never runs.
#include "tests/proxy/server_fixture.hpp"

namespace polygraph::http::testing {
namespace {

struct Form {
  const char* name;
  std::string bytes;
  int status;
};
void PrintTo(const Form& form, std::ostream* out) { *out << form.name; }

class RefusedForm : public ServerTest, public ::testing::WithParamInterface<Form> {};

TEST_P(RefusedForm, IsAnsweredOnceAndNothingBehindItRuns) {
  start();
  {
    auto connection = client();
    connection.send(GetParam().bytes + "GET /index.html?smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto reply = connection.reply();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, GetParam().status);
    EXPECT_EQ(reply->field("connection"), "close");
    EXPECT_EQ(reply->field("x-request-id").size(), 16U);
    EXPECT_NE(reply->body.find("{\"error\":{\"code\":\""), std::string::npos);
    EXPECT_EQ(connection.rest(), "");
  }
  stop();
  server_.reset();  // writes the log's rest
  EXPECT_EQ(log_text().find("index.html"), std::string::npos) << "the request behind it ran";
}

std::string with(const std::string& fields) { return "GET / HTTP/1.1\r\n" + fields + "\r\n"; }
std::string post(const std::string& fields) { return "POST / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n"; }

INSTANTIATE_TEST_SUITE_P(
    Http, RefusedForm,
    ::testing::
        Values(
            Form{"ContentLengthTwice", post("Content-Length: 3\r\nContent-Length: 3\r\n") + "abc", 400},
            Form{"ContentLengthList", post("Content-Length: 3, 3\r\n") + "abc", 400},
            Form{"ContentLengthPlus", post("Content-Length: +3\r\n") + "abc", 400},
            Form{"ContentLengthHex", post("Content-Length: 0x3\r\n") + "abc", 400},
            Form{"ContentLengthNegative", post("Content-Length: -1\r\n"), 400},
            Form{"ContentLengthEmpty", post("Content-Length:\r\n"), 400},
            Form{"ContentLengthPastAnyNumber", post("Content-Length: 99999999999999999999999\r\n"), 413},
            Form{"BodyTooLarge", post("Content-Length: 65537\r\n"), 413},
            Form{"BothFramingFields", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n", 400},
            Form{"BothFramingFieldsOtherOrder", post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n") + "0\r\n\r\n",
                 400},
            Form{"GzipCodingThenLength", post("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n") + "abcde", 400},
            Form{"ChunkedThenIdentity", post("Transfer-Encoding: chunked, identity\r\n") + "0\r\n\r\n", 400},
            Form{"TransferEncodingTwice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n",
                 400},
            Form{"TransferEncodingMisspelt", post("Transfer-Encoding: xchunked\r\n"), 400},
            Form{"ChunkedAlone", post("Transfer-Encoding: chunked\r\n") + "0\r\n\r\n", 411},
            Form{"ChunkedOnGet", with("Host: a\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n", 411},
            Form{"ChunkedOnHttp10", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
            Form{"ChunkExtension", post("Transfer-Encoding: chunked\r\n") + "0;" + std::string(100'000, 'x') + "\r\n\r\n",
                 411},
            Form{"PostWithoutLength", post(""), 411}, Form{"HostMissing", with(""), 400},
            Form{"HostTwice", with("Host: a\r\nHost: a\r\n"), 400}, Form{"HostEmpty", with("Host:\r\n"), 400},
            Form{"HostWithPath", with("Host: a/b\r\n"), 400}, Form{"HostWithUser", with("Host: u@a\r\n"), 400},
            Form{"HostList", with("Host: a, b\r\n"), 400}, Form{"HostPortNoNumber", with("Host: a:b\r\n"), 400},
            Form{"AbsoluteTarget", "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
            Form{"AuthorityTarget", "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
            Form{"AsteriskTarget", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 400},
            Form{"FragmentInTarget", "GET /#a HTTP/1.1\r\nHost: a\r\n\r\n", 400},
            Form{"NonAsciiTarget", "GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
            Form{"TwoSpaces", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400}, Form{"NoVersion", "GET /\r\nHost: a\r\n\r\n", 400},
            Form{"Http2", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
            Form{"LowerCaseVersion", "GET / http/1.1\r\nHost: a\r\n\r\n", 400},
            Form{"BareLfEndsRequestLine", "GET / HTTP/1.1\nHost: a\r\n\r\n", 400},
            Form{"BareLfEndsField", with("Host: a\nX: y\r\n"), 400},
            Form{"BareCrInField", with("Host: a\r\nX: y\rz\r\n"), 400},
            Form{"NulInValue", with("Host: a\r\nX: y" + std::string(1, '\0') + "\r\n"), 400},
            Form{"ControlCharacterInValue", with("Host: a\r\nX: y\x01\r\n"), 400},
            Form{"FoldedField", with("Host: a\r\nX: y\r\n z\r\n"), 400},
            Form{"SpaceBeforeColon", with("Host: a\r\nContent-Length : 3\r\n"), 400},
            Form{"SpaceInName", with("Host: a\r\nX Y: z\r\n"), 400}, Form{"EmptyName", with("Host: a\r\n: z\r\n"), 400},
            Form{"NoColon", with("Host: a\r\nXYZ\r\n"), 400}, Form{"FieldBeforeFirst", with(" Host: a\r\n"), 400},
            Form{"TargetTooLong", "GET /" + std::string(8192, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", 414},
            Form{"HeaderTooLong", with("Host: a\r\nX: " + std::string(16384, 'a') + "\r\n"), 431},
            Form{
                "TooManyHeaders",
                [] {
                  std::string fields = "Host: a\r\n";
                  for (int i = 0; i < 100; ++i) fields += "X: y\r\n";
                  return with(fields);
                }(),
                431},
            Form{"TlsHello", std::string("\x16\x03\x01\x02\x00\x01\x00", 7), 400}),
    [](const auto& given) { return given.param.name; });

class Forms : public ServerTest {};

TEST_F(Forms, AreAcceptedUpToTheirLimits) {
  start();
  EXPECT_EQ(get("/" + std::string(8191, 'a')).status, 404);
  std::string fields;
  for (int i = 0; i < 99; ++i) fields += "X: y\r\n";
  EXPECT_EQ(get("/", fields).status, 200);
  EXPECT_EQ(get("/", "Upgrade: websocket\r\nConnection: Upgrade\r\n").status, 200) << "Upgrade is ignored";
  auto old = client();
  old.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.reply().value_or(Reply{}).status, 200) << "HTTP/1.0 needs no Host";
  EXPECT_TRUE(old.ends_within(3s));
}

TEST_F(Forms, OfAHeadThatArrivesByteByByteAreTheSame) {
  start();
  auto connection = client();
  for (const char byte : std::string("GET /index.html HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n"))
    ASSERT_TRUE(connection.send({&byte, 1}));
  EXPECT_EQ(connection.reply().value_or(Reply{}).status, 200);
}

TEST_F(Forms, AreRefusedBeforeTheHeadIsComplete) {
  start();
  auto connection = client();
  connection.send("GET / HTTP/1.1\nHost");
  EXPECT_EQ(connection.reply().value_or(Reply{}).status, 400);
}

TEST_F(Forms, OfMethodsOtherThanGetAndHeadAreNamed) {
  start();
  const auto post = get("/", "Content-Length: 2\r\n\r\nab", "POST");
  EXPECT_EQ(post.status, 405);
  EXPECT_EQ(post.field("allow"), "GET, HEAD");
  EXPECT_EQ(get("/", "", "DELETE").status, 405);
  EXPECT_EQ(get("/", "", "BREW").status, 501);
}

}  // namespace
}  // namespace polygraph::http::testing
