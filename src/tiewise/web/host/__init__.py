"""The pages of a site of several studies: one sign-in, all studies, and making a new one."""
