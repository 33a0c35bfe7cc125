# The header-only libraries that the engine uses, from Debian's packages. /usr/include itself must not reach the
# WebAssembly compiler (it would find the C library of this machine), so each header tree is linked into a folder of its own.
set(POLYGRAPH_HEADERS "${PROJECT_BINARY_DIR}/headers")
file(MAKE_DIRECTORY "${POLYGRAPH_HEADERS}")
foreach(entry nlohmann tl xxhash.h)
  find_path(POLYGRAPH_${entry}_ROOT NAMES ${entry} PATHS /usr/include /usr/local/include NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  file(CREATE_LINK "${POLYGRAPH_${entry}_ROOT}/${entry}" "${POLYGRAPH_HEADERS}/${entry}" SYMBOLIC)
endforeach()
add_library(polygraph_headers INTERFACE)
target_include_directories(polygraph_headers SYSTEM INTERFACE "${POLYGRAPH_HEADERS}")
