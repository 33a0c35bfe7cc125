// Runs a fuzzer's function over a folder of seeds without libFuzzer: each as it is, every beginning of it, and damaged
// copies, the same in every run.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fuzz.hpp"

namespace {

constexpr int damaged_copies = 2000;
constexpr std::size_t max_beginnings = 2000;

void run(const std::string& bytes) { LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()); }

std::string damaged(std::string bytes, std::mt19937& random) {
  static const std::string telling = std::string("\r\n\t \0:;,/{}[]\"\\0a9\x7f\xff", 21);
  for (auto changes = 1 + random() % 4; changes > 0 && !bytes.empty(); --changes) {
    const auto at = random() % bytes.size();
    switch (random() % 4) {
      case 0: bytes[at] = telling[random() % telling.size()]; break;
      case 1: bytes.insert(at, 1, telling[random() % telling.size()]); break;
      case 2: bytes.erase(at, 1 + random() % 8); break;
      default: bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 32)); break;
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::vector<std::filesystem::path> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) seeds.push_back(entry.path());
  std::sort(seeds.begin(), seeds.end());
  if (seeds.empty()) {
    std::fprintf(stderr, "%s holds no seeds\n", argv[1]);
    return 1;
  }
  std::mt19937 random(1);
  for (const auto& seed : seeds) {
    std::ifstream file(seed, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    run(bytes);
    for (std::size_t size = 0; size < std::min(bytes.size(), max_beginnings); ++size) run(bytes.substr(0, size));
    for (int i = 0; i < damaged_copies; ++i) run(damaged(bytes, random));
  }
  std::printf("%zu seeds\n", seeds.size());
  return 0;
}
