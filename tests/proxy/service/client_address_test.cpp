#include "proxy/http/client_address.hpp"

#include <gtest/gtest.h>

namespace polygraph::http {
namespace {

TrustedProxies trusting(std::initializer_list<const char*> texts) {
  TrustedProxies trusted;
  for (const char* text : texts) EXPECT_TRUE(trusted.add(text)) << text;
  return trusted;
}

std::string client(const char* peer, std::string_view forwarded, const TrustedProxies& trusted) {
  return client_address(boost::asio::ip::make_address(peer), forwarded, trusted);
}

TEST(ClientAddress, IsThePeersWhereThePeerIsNoTrustedProxy) {
  EXPECT_EQ(client("203.0.113.9", "198.51.100.1", {}), "203.0.113.9");
  EXPECT_EQ(client("203.0.113.9", "198.51.100.1", trusting({"10.0.0.0/8"})), "203.0.113.9");
}

TEST(ClientAddress, IsReadFromTheRightAndWhatAClientWroteItselfIsNotBelieved) {
  const auto trusted = trusting({"10.0.0.0/8", "192.0.2.7"});
  EXPECT_EQ(client("10.1.2.3", "198.51.100.1", trusted), "198.51.100.1");
  EXPECT_EQ(client("10.1.2.3", "1.2.3.4, 198.51.100.1", trusted), "198.51.100.1");
  EXPECT_EQ(client("10.1.2.3", "1.2.3.4, 198.51.100.1, 192.0.2.7", trusted), "198.51.100.1");
  EXPECT_EQ(client("10.1.2.3", "10.9.9.9", trusted), "10.9.9.9") << "all are trusted: the leftmost";
}

TEST(ClientAddress, DropsPortsAndNormalisesIpv6) {
  const auto trusted = trusting({"10.0.0.0/8"});
  EXPECT_EQ(client("10.1.2.3", "198.51.100.1:4711", trusted), "198.51.100.1");
  EXPECT_EQ(client("10.1.2.3", "[2001:DB8::1]:4711", trusted), "2001:db8::1");
  EXPECT_EQ(client("10.1.2.3", "\"[2001:db8:0:0::1]\"", trusted), "2001:db8::1");
  EXPECT_EQ(client("10.1.2.3", "::ffff:198.51.100.1", trusted), "198.51.100.1");
  EXPECT_EQ(client("::ffff:10.1.2.3", "198.51.100.1", trusted), "198.51.100.1");
}

TEST(ClientAddress, WhatIsNoAddressEndsTheWalk) {
  const auto trusted = trusting({"10.0.0.0/8"});
  EXPECT_EQ(client("10.1.2.3", "1.2.3.4, unknown", trusted), "10.1.2.3");
  EXPECT_EQ(client("10.1.2.3", "1.2.3.4,", trusted), "10.1.2.3");
  EXPECT_EQ(client("10.1.2.3", "", trusted), "10.1.2.3");
  EXPECT_EQ(client("10.1.2.3", "[::1", trusted), "10.1.2.3");
}

TEST(TrustedProxies, KnowAddressesAndBlocksAndNothingElse) {
  TrustedProxies trusted;
  for (const char* bad : {"", "10.0.0.0/", "10.0.0.0/33", "10.0.0/8", "::/129", "example.org", "10.0.0.0/8x", "10.0.0.0/-1"}) EXPECT_FALSE(trusted.add(bad)) << bad;
  trusted = trusting({"172.16.0.0/12", "2001:db8::/33"});
  const auto knows = [&](const char* address) { return trusted.contains(boost::asio::ip::make_address(address)); };
  EXPECT_TRUE(knows("172.31.255.255"));
  EXPECT_FALSE(knows("172.32.0.0"));
  EXPECT_TRUE(knows("2001:db8:7fff::1"));
  EXPECT_FALSE(knows("2001:db8:8000::1"));
}

TEST(ClientNetwork, IsOneCustomersAddresses) {
  EXPECT_EQ(client_network("198.51.100.1"), "198.51.100.1");
  EXPECT_EQ(client_network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
}

}  // namespace
}  // namespace polygraph::http
