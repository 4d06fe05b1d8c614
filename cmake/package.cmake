# What is installed beside the program, and packages of it: cmake --install, cpack -G DEB, cpack -G RPM.

# Manual pages and the changelog are compressed as packages want them, without a time stamp.
find_program(GZIP gzip REQUIRED)
file(GLOB manual CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/man/*.1)
set(compressed "")
foreach(file ${manual} ${CMAKE_SOURCE_DIR}/cmake/changelog)
  get_filename_component(name ${file} NAME)
  set(output ${CMAKE_BINARY_DIR}/compressed/${name}.gz)
  add_custom_command(OUTPUT ${output} COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/compressed
                     COMMAND ${GZIP} -9nc ${file} > ${output} DEPENDS ${file} VERBATIM)
  list(APPEND compressed ${output})
  if(name MATCHES "\\.1$")
    install(FILES ${output} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  else()
    install(FILES ${output} DESTINATION ${CMAKE_INSTALL_DOCDIR})
  endif()
endforeach()
add_custom_target(compressed ALL DEPENDS ${compressed})

install(FILES ${CMAKE_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${CMAKE_SOURCE_DIR}/cmake/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
file(GLOB completion CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/completion/bash/*)
if(completion)
  install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()

set(CPACK_PACKAGE_NAME rocm-doctor)
set(CPACK_PACKAGE_VENDOR "rocm-doctor developers")
set(CPACK_PACKAGE_CONTACT "rocm-doctor developers <rocm-doctor@users.noreply.github.com>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "find out why ROCm does not work on a host")
set(CPACK_PACKAGE_DESCRIPTION
"rocm-doctor examines a host from the PCI bus to the LLM engine: hardware, the
amdgpu driver, device nodes and permissions, ROCm libraries and packages,
PyTorch and other wheels, vLLM, llama.cpp, Ollama and their like. It names the
root cause of what is broken, with the evidence and the next command, without
starting any of what it examines.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                                                WORLD_EXECUTE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
# Loaded where there is an rpm database.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS libsqlite3-0)
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
if(DPKG_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE "GPL-2.0-or-later")
set(CPACK_RPM_PACKAGE_GROUP "Applications/System")
# Directories of the system belong to it.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/share/man /usr/share/man/man1 /usr/share/bash-completion
                                                  /usr/share/bash-completion/completions)
include(CPack)
