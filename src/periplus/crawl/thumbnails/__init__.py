"""Thumbnails of the images of crawled pages, and the icons of their hosts: made after a crawl, served from here."""
