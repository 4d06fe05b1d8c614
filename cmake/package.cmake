set(CPACK_PACKAGE_VENDOR "rocm-doctor developers")
include(CPack)
