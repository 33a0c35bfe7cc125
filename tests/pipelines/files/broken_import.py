import helper_of_broken_import

pipeline = None
